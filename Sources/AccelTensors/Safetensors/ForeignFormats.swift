import AccelByteIO

/// A file format other than safetensors, recognised by its first bytes.
public enum ForeignFormat: Sendable {
    /// Never read, because reading a pickle executes code.
    case pickle
    /// A zip archive.
    case zip
    /// A GGUF file.
    case gguf
    /// A Git LFS pointer in place of the file.
    case gitPointer
    /// An HDF5 file.
    case hdf5

    /// The suffixes of pickles' names.
    public static let pickleSuffixes = [".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"]

    /// Recognises a format.
    /// - Parameter start: the first bytes of a file, up to 64.
    /// - Returns: Nil for unknown bytes.
    public init?(_ start: [UInt8]) {
        func starts(_ text: String) -> Bool { start.starts(with: text.utf8) }
        if start.count >= 2, start[0] == 0x80, (2...5).contains(start[1]) {
            self = .pickle
        } else if start.starts(with: [0x50, 0x4B, 3, 4]) {
            self = .zip
        } else if starts("GGUF") {
            self = .gguf
        } else if starts("version https://git-lfs") {
            self = .gitPointer
        } else if starts("\u{89}HDF") || start.starts(with: [0x89, 0x48, 0x44, 0x46]) {
            self = .hdf5
        } else {
            return nil
        }
    }

    /// The advice for a user who passes such a file instead of a safetensors file.
    var advice: String {
        switch self {
        case .pickle: "this is a Python pickle, which can run code when it is read; \(conversionAdvice)"
        case .zip: "this is a zip archive, as torch.save writes it, with a Python pickle inside; \(conversionAdvice)"
        case .gguf: "this is a GGUF file, expected safetensors"
        case .gitPointer: "this is a Git LFS pointer, not the file itself; fetch it with `git lfs pull`"
        case .hdf5: "this is an HDF5 file, expected safetensors"
        }
    }
}

/// Returns the advice for a user who passes another format instead of a safetensors file; nil for unknown bytes.
func foreignFormat(_ file: ByteView) -> String? {
    ForeignFormat(file[0..<min(file.count, 64)].withBytes { Array($0) })?.advice
}

let conversionAdvice = "save the model as safetensors first (in transformers: save_pretrained)"

/// Returns whether a file name is that of a Python pickle.
func isPickleName(_ name: String) -> Bool { ForeignFormat.pickleSuffixes.contains { name.hasSuffix($0) } }
