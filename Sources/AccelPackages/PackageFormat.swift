/// The accelerator package format, as schemas/package-format.md defines it.
public enum PackageFormat {
    /// Readers refuse another major version, and ignore what a later minor version adds.
    public static let major = 3
    /// The latest that this tool reads and writes. A package is of the first one that has all that it holds.
    public static let minor = 0
    /// That of graph.bin and weights.bin, which stays when a minor version adds other files.
    static let tableMinor = 0

    /// Every tensor section starts on a multiple of this in its blob.
    public static let sectionAlignment = 64
    /// The page size of Apple's processors: a blob's first section lies on a page, also within a zip archive.
    public static let pageBytes = 16384
    /// A blob ends before this, unless one section alone is larger.
    public static let maximumBlobBytes = 2 << 30

    static let manifestName = "manifest.json"
    static let graphName = "graph.bin"
    static let weightsName = "weights.bin"
    /// The files that every package has, besides the manifest and the blobs.
    static let tableNames = [graphName, sourceMapName, weightsName]
    static let sourceMapName = "source-map.json"
    /// What packages of format 2, which are refused, have in place of the graph.
    static let earlierProgramName = "program.bin"
    /// Outside of the package digest.
    static let reportName = "verify.json"
    static let assetsFolder = "assets"

    static func blobName(_ index: Int) -> String {
        let digits = String(index)
        return "weights-\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits).bin"
    }

    /// What a reader has to know (or may know) beyond the version.
    public enum Feature: String, CaseIterable, Sendable {
        /// Bit 0: graph.bin holds functions, and weights.bin says how their constants are encoded.
        case graph = "graph"
        /// Bit 1: weights lie in weights-NNNN.bin.
        case weightBlobs = "weight-blobs"
        /// Bit 2, optional: source-map.json.
        case sourceMap = "source-map"
        /// Bit 3, optional: assets/.
        case assets = "assets"
        /// Bit 4, optional: weights are stored with channels scaled, as source-map.json says.
        case scaledChannels = "scaled-channels"
        /// Bit 5, optional: source-map.json says how stored tensors were made of the checkpoint's.
        case origins = "origins"
    }
}

/// What makes two versions of the tool differ in their output.
public enum Tool {
    public static let version = "0.1.0"
    /// Goes up when samples tell other statistics of the same model, or a search by them (scalings, schemes for a target)
    /// finds others. Codecs, families and passes have versions of their own.
    public static let calibrationVersion = 1
}
