public import AccelByteIO

/// What a safetensors file that accelc writes holds. Its metadata say so: by that a later run knows it again (`accelc`), and other
/// tools whose layout the tensors have (`format`).
public enum TensorFileKind: String, Sendable {
    case outputs, states, weights
    /// A part of another result, e.g. of a package of recorded runs. Its metadata are those that are given.
    case part

    /// Metadata that every such file has.
    var metadata: [(key: String, value: String)] {
        self == .part ? [] : [("accelc", rawValue), ("format", "pt")]
    }

    /// What may be replaced by such a file.
    public var output: OutputKind {
        guard self != .part else { return .internal }
        return .file("a safetensors file of \(rawValue)") { path in
            let found = try SafetensorsFile(path).metadata.first { $0.key == "accelc" }?.value
            switch found {
            case rawValue?: return nil
            case let other?: return "its metadata say that it holds \(quoted(other))"
            case nil: return "its metadata do not say so"
            }
        }
    }
}
