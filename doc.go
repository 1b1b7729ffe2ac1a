// Package drawbridge provides read-write locks that can be cancelled, seen and checked.
package drawbridge
