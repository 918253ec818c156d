public import AccelByteIO

/// The content of a safetensors file that accelc writes. The metadata name it, for later runs (`accelc`) and for tools
/// that use the same tensor layout (`format`).
public enum TensorFileKind: String, Sendable {
    /// The outputs of a run.
    case outputs
    /// The states after a run.
    case states
    /// Decompressed weights.
    case weights
    /// A part of another result, such as recorded runs in a package. It has only the given metadata.
    case part

    /// The metadata of every such file.
    var metadata: [(key: String, value: String)] {
        self == .part ? [] : [("accelc", rawValue), ("format", "pt")]
    }

    /// The kind of output, which decides what the file may replace.
    public var output: OutputKind {
        guard self != .part else { return .internal }
        return .file("a safetensors file of \(rawValue)", suffixes: [".safetensors"]) { path in
            let found = try SafetensorsFile(path).metadata.first { $0.key == "accelc" }?.value
            switch found {
            case rawValue?: return nil
            case let other?: return "its metadata say that it holds \(quoted(other))"
            case nil: return "its metadata do not say so"
            }
        }
    }
}
