import ByteIO

/// What to tell somebody who gives another kind of file where a safetensors file is expected; nil when the first bytes
/// say nothing. A pickle is never read: reading one runs code.
func foreignFormat(_ file: ByteView) -> String? {
    let start = file[0..<min(file.count, 64)].withBytes { Array($0) }
    func starts(_ prefix: [UInt8]) -> Bool { start.starts(with: prefix) }
    if start.count >= 2, start[0] == 0x80, (2...5).contains(start[1]) {
        return "this is a Python pickle, which can run code when it is read; \(conversionAdvice)"
    }
    if starts([0x50, 0x4B, 3, 4]) {
        return "this is a zip archive, as torch.save writes it, with a Python pickle inside; \(conversionAdvice)"
    }
    if starts(Array("GGUF".utf8)) { return "this is a GGUF file, expected safetensors" }
    if starts(Array("version https://git-lfs".utf8)) {
        return "this is a Git LFS pointer, not the file itself; fetch it with `git lfs pull`"
    }
    if starts(Array("\u{89}HDF".utf8)) || starts([0x89, 0x48, 0x44, 0x46]) {
        return "this is an HDF5 file, expected safetensors"
    }
    return nil
}

let conversionAdvice = "save the model as safetensors first (in transformers: save_pretrained)"

/// Whether a file of this name is a Python pickle by its name.
func isPickleName(_ name: String) -> Bool {
    [".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"].contains { name.hasSuffix($0) }
}
