package main

type replayCommand struct{}

func (replayCommand) Run() error { return nil }
