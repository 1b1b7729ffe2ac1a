// Package inspect shows what the locks of this process are doing now.
package inspect
