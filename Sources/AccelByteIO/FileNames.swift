/// The names in an archive or a folder, checked for collisions: no two may be equal on a file system that ignores case
/// or normalises Unicode, and none may be both a file and a folder.
package struct FileNames {
    package init() {}

    // Swift compares strings by canonical equivalence, so composed and decomposed forms are equal.
    private var files: Set<String> = []
    private var folders: Set<String> = []

    /// Adds a name. Returns why it collides with earlier names; nil if it does not.
    package mutating func insert(_ name: String, isFolder: Bool = false) -> String? {
        let folded = name.uppercased().lowercased()
        if files.contains(folded) || (!isFolder && folders.contains(folded)) {
            return "the name \(quoted(name)) occurs twice, or differs from another only in case or Unicode form"
        }
        if isFolder { folders.insert(folded) } else { files.insert(folded) }
        var parent = folded[...]
        while let slash = parent.lastIndex(of: "/") {
            parent = parent[..<slash]
            if files.contains(String(parent)) { return "the name \(quoted(name)) needs a folder where a file stands" }
            if !folders.insert(String(parent)).inserted { break }
        }
        return nil
    }
}
