/// The names of an archive or a folder: no two may fall together on a file system that ignores case or normalizes Unicode, and none
/// may be both file and folder.
package struct FileNames {
    package init() {}

    // Swift compares strings by canonical equivalence: composed and decomposed forms are one.
    private var files: Set<String> = []
    private var folders: Set<String> = []

    /// Returns what is wrong with the name beside those before it, nil when nothing is.
    package mutating func insert(_ name: String, isFolder: Bool = false) -> String? {
        let folded = name.uppercased().lowercased()
        if files.contains(folded) || (!isFolder && folders.contains(folded)) {
            return "the name \(quoted(name)) stands twice, or twice but for case or Unicode form"
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
