/// A Git LFS pointer, which stands in place of a file that was not fetched.
package enum GitPointer {
    /// The text that it begins with.
    package static let start = "version https://git-lfs"
    /// The advice for a user who passes a pointer.
    package static let advice = "this is a Git LFS pointer, not the file itself; fetch it with `git lfs pull`"
}
