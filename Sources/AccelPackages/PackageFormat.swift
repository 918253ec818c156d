/// The constants of the package format, which schemas/package-format.md defines.
public enum PackageFormat {
    /// The major version. Readers reject another one, and ignore additions of later minor versions.
    public static let major = 3
    /// The latest supported minor version. A package has the first version that supports its content.
    public static let minor = 0
    /// The minor version of graph.bin and weights.bin, which does not change if a minor version adds other files.
    static let tableMinor = 0

    /// The alignment of each section in its blob.
    public static let sectionAlignment = 64
    /// The page size of Apple's processors, to which a blob's first section is aligned, also within a zip archive.
    public static let pageBytes = 16384
    /// The size limit of blobs with more than one section.
    public static let maximumBlobBytes = 2 << 30

    static let manifestName = "manifest.json"
    static let graphName = "graph.bin"
    static let weightsName = "weights.bin"
    /// The tables that every package has.
    static let tableNames = [graphName, sourceMapName, weightsName]
    static let sourceMapName = "source-map.json"
    /// The file of format 2, which is rejected, that corresponds to the graph.
    static let earlierProgramName = "program.bin"
    /// The parity report, which is not part of the package digest.
    static let reportName = "verify.json"
    static let assetsFolder = "assets"

    /// The advice for a damaged package, for the end of an error.
    static let damageAdvice = "copy the package again, or convert the model again"

    static func blobName(_ index: Int) -> String {
        let digits = String(index)
        return "weights-\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits).bin"
    }

    /// Features that a reader has to support, or may ignore, beyond the version.
    public enum Feature: String, CaseIterable, Sendable {
        /// Bit 0: graph.bin holds the functions, and weights.bin the encodings of their constants.
        case graph = "graph"
        /// Bit 1: weights are in weights-NNNN.bin.
        case weightBlobs = "weight-blobs"
        /// Bit 2, optional: source-map.json.
        case sourceMap = "source-map"
        /// Bit 3, optional: assets/.
        case assets = "assets"
        /// Bit 4, optional: weights have scaled channels, with the exponents in source-map.json.
        case scaledChannels = "scaled-channels"
        /// Bit 5, optional: source-map.json has the derivations of stored tensors.
        case origins = "origins"
        /// Bit 6: key/value caches are F16.
        case halfStates = "half-states"
        /// Bit 7: key/value caches are I8, with a scale at the end of each row.
        case byteStates = "byte-states"
    }
}

/// The versions of the tool that affect its output.
public enum Tool {
    /// The version of accelc.
    public static let version = "0.1.0"
    /// Increases when calibration gives other statistics for the same model and data, or a search over them, or a codec with them, another
    /// result. Codecs, families and passes have their own versions.
    public static let calibrationVersion = 12
}
