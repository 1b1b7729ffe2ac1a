// Package cluster is the read-write lock, and the snapshot, across machines.
//
// A [Locker] takes named locks on an [Engine]: a system that exists and that all machines reach, such as etcd or
// PostgreSQL. The lock is the one of package drawbridge in its FIFO form: it is granted in order of arrival,
// neighbouring readers enter together, and a waiting writer closes the door to the readers after it.
//
//	locks := cluster.New(engine, cluster.Options{Label: "rebuild"})
//	err := locks.WithLock(ctx, "routes", func(ctx context.Context, hold *cluster.Hold) error {
//		return store.Write(hold.Token(), change) // the store refuses tokens that came too late
//	})
//
// # What is promised
//
// The engine never grants conflicting locks at once: its own order of events has no overlap. What a machine
// believes is another matter, because a process can be paused, or cut off, for longer than its lease lasts. So
// there are three promises, each weaker than the resource you protect needs, or just enough:
//
//   - The holder is told before anybody else can be granted the lock: [Hold.Context] ends and [Hold.Held] fails
//     at a deadline that counts from the time the last answered keepalive was sent, less a margin. It rests on
//     clocks that run at the same rate within that margin, and on the engine not ending a lease early.
//   - A process that asks [Hold.Held] right before each step does not begin one after its deadline.
//   - Data is safe against every pause and every delay if the resource itself checks [Hold.Token], by a [Fence] or
//     by a comparison in the same transaction as the change. This is the only one without an "if" about time.
//
// # What is not
//
// Deadlocks over several names are not detected: take several names in one fixed order, and bound waits with a
// context. There is no upgrade from reading to writing, because two readers that upgrade would wait for each other.
package cluster
