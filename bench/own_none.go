//go:build !core

package main

func rwOwn() []contender                                           { return nil }
func mutexOwn() []contender                                        { return nil }
func scopedRows() []row                                            { return nil }
func rwSizes(func(string, role, func() lockSize) entry) []entry    { return nil }
func mutexSizes(func(string, role, func() lockSize) entry) []entry { return nil }
func snapshotLoads() []entry                                       { return nil }
func keyedOwn(func(string, role, func() keyedLoop) entry) []entry  { return nil }
func seedOwn(func(string, role, func() table) entry) []entry       { return nil }
