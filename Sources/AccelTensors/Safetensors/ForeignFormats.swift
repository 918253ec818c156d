import AccelByteIO

/// Another kind of file, told by its first bytes.
public enum ForeignFormat: Sendable {
    /// It is never read: reading one runs code.
    case pickle
    case zip, gguf, gitPointer, hdf5

    /// How the names of pickles end.
    public static let pickleSuffixes = [".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"]

    /// - Parameter start: the first bytes of a file, up to 64.
    /// - Returns: nil when they say nothing.
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

    /// What to tell somebody who gives it where a safetensors file is expected.
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

/// What to tell somebody who gives another kind of file where a safetensors file is expected; nil when the first bytes
/// say nothing.
func foreignFormat(_ file: ByteView) -> String? {
    ForeignFormat(file[0..<min(file.count, 64)].withBytes { Array($0) })?.advice
}

let conversionAdvice = "save the model as safetensors first (in transformers: save_pretrained)"

/// Whether a file of this name is a Python pickle by its name.
func isPickleName(_ name: String) -> Bool { ForeignFormat.pickleSuffixes.contains { name.hasSuffix($0) } }
