import AccelByteIO
public import AccelModelFamilies
import AccelPackages
public import AccelPrograms

/// The functions of a source as programs, and what a package made of them says of where they come from.
public struct SourceModel: Sendable {
    /// What made the programs of the source's files, e.g. `bert`, `coreml`.
    public let family: String
    /// Goes up when it makes other programs of the same files.
    public let familyVersion: Int
    /// One a part. Those of `functions` where the source has its shapes settled.
    public let programs: [Program]
    /// The functions of a source whose every dimension is a number already; nil: the programs are to be frozen.
    public let functions: [FrozenProgram]?
    /// As `Provenance.parts` has them: empty for those that are built without being asked.
    public let recordedParts: [String]
    /// Tensors that no program reads.
    public let unused: [FamilyModel.UnusedTensor]
    /// The patterns of tensors to leave out that fit one of `unused`.
    public let ignoredTensors: [String]
    /// The names of the tensors in the source's files that the programs depend on.
    public let used: Set<String>
    /// The values of weights are views into the source's files, or made of such: nothing vouches for each by itself.
    public let isReadInPlace: Bool
    /// How tensors of the checkpoint are found in the programs' constants.
    public let origins: TensorOrigins
    /// What a user should know of how the source was read, in sentences.
    public let remarks: [String]

    /// A checkpoint, as its family builds it.
    public init(_ model: FamilyModel, by family: any ModelFamily) {
        self.family = type(of: family).name
        familyVersion = type(of: family).version
        (programs, functions) = (model.programs, nil)
        recordedParts = model.recordedParts(of: family)
        (unused, ignoredTensors, used) = (model.unused, model.ignoredTensors, model.used)
        isReadInPlace = false
        (origins, remarks) = (model.origins, model.remarks)
    }

    /// Functions whose shapes are settled.
    /// - Parameters:
    ///   - parts: those that were asked for; empty for all.
    ///   - used: the names of the tensors in the source's files that the weights are made of.
    public init(
        family: String, version: Int, functions: [FrozenProgram], parts: [String], used: Set<String>, remarks: [String]
    ) {
        (self.family, familyVersion) = (family, version)
        (programs, self.functions) = (functions.map(\.program), functions)
        recordedParts = parts
        (unused, ignoredTensors, self.used, isReadInPlace) = ([], [], used, true)
        (origins, self.remarks) = (TensorOrigins(), remarks)
    }

    /// e.g. `bert 1`, for keys.
    public var versionedName: String { "\(family) \(familyVersion)" }
}

extension [FrozenProgram] {
    /// Those of the parts that are asked for; empty asks for all.
    /// - Throws: `RequestError` for a part that is not there.
    func asked(_ parts: [String]) throws -> [FrozenProgram] {
        let known = map(\.program.name)
        for part in parts where !known.contains(part) {
            let names = Set(known).sorted().joined(separator: ", ")
            throw RequestError("there is no part \"\(part)\" (the model has: \(names))")
        }
        return parts.isEmpty ? self : filter { parts.contains($0.program.name) }
    }
}
