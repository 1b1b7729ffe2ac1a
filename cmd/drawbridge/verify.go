package main

type verifyCommand struct{}

func (verifyCommand) Run() error { return nil }
