//go:build explore

package explore

// Named returns larger programs, each for a fault that was found in a lock of
// some language, under every policy.
func Named() (programs []string) {
	for _, p := range policies {
		for _, body := range []string{
			// A reader asleep behind a writer that gave up, with another
			// writer before or behind it.
			"RLock Release | LockContext! Release | RLock Release | LockContext Release",
			"RLock Release | LockContext! Release | LockContext! Release | RLock Release",
			// The wrong class is woken, or one reader of two.
			"RLock Release | RLock Release | Lock Release | RLock Release",
			"Lock Release | RLock Release | RLock Release | Lock Release",
			// Readers that wait as one, beside one that may give up, and after
			// others have come and gone.
			"Lock Release | RLock Release | RLock Release RLock Release | RLock Release",
			"Lock Release | RLockContext! Release | RLock Release | RLock Release",
			"Lock Release Lock Release | RLock Release RLock Release | RLock Release RLock Release",
			// A waiter for an upgradable hold is forgotten.
			"Lock Release | ULock Release | RLock Release | ULock Release",
			"ULock Release | ULockContext! Release | RLock Release | Lock Release",
			// A release that is followed at once by another acquire.
			"Lock Release Lock Release | Lock Release | Lock Release",
			"Lock Release Lock Release | LockContext! Release | RLock Release",
			"Lock Release TryLock Release | Lock Release | Lock Release | RLock Release",
			// Starvation of readers, of writers.
			"Lock Release Lock Release | Lock Release Lock Release | RLock Release",
			"RLock Release RLock Release | RLock Release RLock Release | Lock Release",
			"RLock Release TryRLock Release | Lock Release | TryRLock Release",
			// A downgrade with everybody in the queue.
			"Lock Downgrade Release | LockContext! Release | RLock Release | ULock Release",
			"Lock DowngradeToUpgradable Upgrade Release | LockContext! Release | RLock Release",
			// An upgrade passes a writer, which stays the first of two.
			"Lock DowngradeToUpgradable Upgrade Release | RLock Release | Lock Release | Lock Release",
			// An upgrade that is given up while others wait.
			"ULockContext UpgradeContext! Release | RLock Release | LockContext! Release",
			"ULock UpgradeContext! Release | RLock Release | RLock Release | Lock Release",
			"ULock Upgrade DowngradeToUpgradable Upgrade Release | RLock Release | LockContext! Release",
			"ULock UpgradeContext! UpgradeContext! Release | RLock Release RLock Release | ULock Upgrade Release",
			// A waiter that is used again.
			"LockContext! Release LockContext! Release | Lock Release | Lock Release",
			"RLockContext! Release RLockContext! Release | Lock Release Lock Release",
		} {
			programs = append(programs, p.String()+": "+body)
		}
	}
	for _, lock := range []string{"Balanced", "Mutex Balanced", "FIFO", "Mutex FIFO"} {
		for _, body := range []string{
			// A writer that was woken to compete and gives up, or finds a
			// third one inside.
			"Lock Release | LockContext! Release | Lock Release | TryLock Release",
			"Lock Release Lock Release | LockContext! Release | LockContext! Release",
		} {
			programs = append(programs, lock+": "+body)
		}
	}
	// A striped lock with a Try that fails, and with a writer and two readers.
	for _, start := range []string{"striped", "hot", "striped-watched"} {
		for _, body := range []string{
			"RLock Release | TryLock TryRLock Release",
			"RLock Release | RLock Release | LockContext! Release",
			"RLock Release | TryRLock Release | TryLock Release",
			"ULock Upgrade Release | RLock Release | TryRLock Release",
		} {
			programs = append(programs, "Balanced start="+start+": "+body, "FIFO start="+start+": "+body)
		}
	}
	// A lock that must not become striped, since its writers would have to keep
	// readers out to count them.
	programs = append(programs, "PreferReaders start=hot: RLock Release RLock Release | Lock Release | RLock Release")
	// A writer older than its patience is handed the lock.
	for _, body := range []string{
		"Lock Release | Lock Release | TryLock Release TryLock Release TryLock Release TryLock Release TryLock Release",
		"Lock Release | LockContext! Release | TryLock Release TryLock Release TryLock Release | RLock Release",
		"Lock Release | Lock Release | RLock Release RLock Release | Lock Release",
		"Lock Release | Lock Release | Lock Downgrade Release | RLock Release",
		// The wake of one that drains is on its way when an upgrade passes it.
		"Lock Release | Lock Release | ULock Upgrade Release | RLock Release",
	} {
		programs = append(programs, "Balanced clock=1: "+body)
	}
	return programs
}
