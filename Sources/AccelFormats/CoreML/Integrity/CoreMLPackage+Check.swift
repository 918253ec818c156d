import AccelByteIO

extension CoreMLPackage {
    /// Reads every byte of the blob file: what is no element has to be as the format has it, zeros between entries too. A
    /// package that accelc wrote is compared with the digests that it carries.
    /// - Returns: whether it carries digests.
    /// - Throws: `FormatError` (exit status 4) naming what is not as it was written.
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

    /// Why weight.bin is not the one that accelc wrote, as far as its size and its list of entries tell, and of a small one its bytes;
    /// nil when it is. (The manifest tells of the model.)
    func changeOfWeights() throws -> String? {
        guard let seal = try CoreMLSeal(of: model, file: path) else { return "its model has no digests of accelc's" }
        let entries = try blobs?.checkedEntries() ?? []
        let isSmall = blobs.map { $0.bytes.count <= WrittenFile.comparedBytes } ?? true
        let isSame =
            Set(entries.map(\.offset)) == Set(seal.entries.keys)
            && (!isSmall || entries.allSatisfy { SHA256.digest(of: $0.entry.bytes) == seal.entries[$0.offset] })
        return isSame ? nil : WrittenFile.change(of: "weight.bin")
    }

    /// The value of the program that reads an entry of the blob file.
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
