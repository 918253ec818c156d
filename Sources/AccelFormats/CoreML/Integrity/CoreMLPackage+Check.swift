import AccelByteIO

extension CoreMLPackage {
    /// Checks every byte of the blob file: headers, and the zeros between entries. The contents of accelc's packages are
    /// compared with the digests in the metadata.
    /// - Returns: whether the package has digests.
    /// - Throws: `FormatError` (exit status 4) with the corrupt entry or field.
    @discardableResult
    public func check() throws -> Bool {
        let entries = try blobs?.checkedEntries() ?? []
        guard let seal = try CoreMLSeal(of: model, file: path) else {
            guard !isOfAnotherManifest else {
                throw FormatError(
                    file: path,
                    reason: "Manifest.json is of another model that accelc wrote: this one is damaged, or another tool "
                        + "changed it")
            }
            return false
        }
        guard model.digest.description == seal.model else {
            throw FormatError(
                file: path,
                reason: "the model is not the one that accelc wrote: it is damaged, or another tool changed it "
                    + "(to have it taken as that tool's, remove the entries accelc.* from its metadata)")
        }
        guard Set(entries.map(\.offset)) == Set(seal.entries.keys) else {
            throw FormatError(
                file: path,
                reason: "weight.bin has \(entries.count) entries, but accelc wrote \(seal.entries.count)")
        }
        for (offset, entry) in entries where SHA256.digest(of: entry.bytes) != seal.entries[offset] {
            throw error(
                name(ofEntry: offset), "its elements at byte \(offset) of weight.bin are not those that accelc wrote")
        }
        return true
    }

    /// Returns the reason why weight.bin is not an unchanged file of accelc; nil if it seems to be. Compares the size and the list
    /// of entries, and the bytes of a small file. (The manifest covers the model.)
    func changeOfWeights() throws -> String? {
        guard let seal = try CoreMLSeal(of: model, file: path) else { return "its model has no digests of accelc's" }
        let entries = try blobs?.checkedEntries() ?? []
        let isSmall = blobs.map { $0.bytes.count <= WrittenFile.comparedBytes } ?? true
        let isSame =
            Set(entries.map(\.offset)) == Set(seal.entries.keys)
            && (!isSmall || entries.allSatisfy { SHA256.digest(of: $0.entry.bytes) == seal.entries[$0.offset] })
        return isSame ? nil : WrittenFile.change(of: "weight.bin")
    }

    /// Returns the name of the program's value that reads an entry of the blob file.
    func name(ofEntry offset: Int) -> String {
        for function in model.program.functions {
            for operation in function.operations {
                let values =
                    operation.attributes.map(\.content)
                    + operation.inputs.flatMap(\.content).compactMap {
                        if case .value(let value) = $0 { value } else { nil }
                    }
                if values.contains(where: { $0.content == .blob(offset: offset) }) {
                    return operation.outputs.first?.name ?? operation.type
                }
            }
        }
        return "the entry at \(offset)"
    }
}
