import AccelByteIO
public import AccelModelFamilies
import AccelPackages
public import AccelPrograms
public import AccelTensors
public import AccelWeightCompression

/// The functions of a source as programs, with the provenance that a package of them records.
public struct SourceModel: Sendable {
    /// The model family or importer that built the programs, e.g. `bert`, `coreml`.
    public let family: String
    /// The version of the family; it increases when the same files give other programs.
    public let familyVersion: Int
    /// One program for each part; the programs of `functions` if the source has fixed shapes.
    public private(set) var programs: [Program]
    /// The functions of a source with fixed shapes; nil if the programs still have to be frozen.
    public private(set) var functions: [FrozenProgram]?
    /// The positions that decoders compute logits for.
    public private(set) var logits = LogitPositions.all
    /// The value of `Provenance.parts`: empty for the default parts.
    public let recordedParts: [String]
    /// Tensors that no program reads.
    public let unused: [UnusedTensor]
    /// The patterns of ignored tensors that match one of `unused`.
    public let ignoredTensors: [String]
    /// The names of the tensors in the source's files that the programs depend on.
    public private(set) var used: Set<String>
    /// Whether the values of weights are views of the source's files, so that no digest protects each weight by itself.
    public private(set) var isReadInPlace: Bool
    /// The origin of the programs' constants in the checkpoint's tensors.
    public let origins: TensorOrigins
    /// The paths of fields in config.json that the model's class does not define, so that they change nothing.
    package private(set) var undefinedFields: [String] = []
    /// Remarks on the import for the user, a sentence each.
    public private(set) var remarks: [String]
    /// The importer of the source's files and its version, for cache keys; nil for one whose results have not changed.
    package private(set) var importer: String?
    /// The encoded weights of the source's files, by the names of the constants that have their decoded values.
    public private(set) var encoded: [String: EncodedWeight] = [:]

    /// The programs that a family built from a checkpoint.
    public init(_ model: FamilyModel, by family: any ModelFamily) {
        self.family = type(of: family).name
        familyVersion = type(of: family).version
        (programs, functions) = (model.programs, nil)
        recordedParts = model.recordedParts(of: family)
        (unused, ignoredTensors, used) = (model.unused, model.ignoredTensors, model.used)
        isReadInPlace = false
        (origins, remarks, undefinedFields) = (model.origins, model.remarks, model.undefinedFields)
    }

    /// The requested functions of a source with fixed shapes.
    /// - Parameters:
    ///   - family: the name of the importer.
    ///   - version: the version of the importer.
    ///   - functions: all functions of the source; a function's part is its program's name.
    ///   - parts: the requested parts; empty for all.
    ///   - ignoringUnknown: whether parts that the source lacks are left out: in a comparison they are a difference, not an
    ///     error.
    ///   - used: the names of the tensors in the source's files that the weights are made of.
    ///   - schemes: the schemes of the weights that were compressed before, one for each.
    /// - Throws: `RequestError` for an unknown part.
    init(
        family: String, version: Int, functions: [FrozenProgram], parts: [String], ignoringUnknown: Bool,
        used: Set<String> = [], schemes: [String]
    ) throws {
        let known = functions.map(\.program.name)
        let named = parts == [FamilyModel.everyPart] ? [] : parts
        let parts = ignoringUnknown ? named.filter(known.contains) : named
        let asked = try functions.asked(parts)
        (self.family, familyVersion) = (family, version)
        (programs, self.functions) = (asked.map(\.program), asked)
        recordedParts = Set(parts).isSuperset(of: known) ? [] : parts
        (unused, ignoredTensors, self.used, isReadInPlace) = ([], [], used, true)
        origins = TensorOrigins()
        remarks = Self.remarks(on: schemes, of: "package")
    }

    private static func remarks(on schemes: [String], of source: String) -> [String] {
        schemes.isEmpty
            ? []
            : [
                "\(Wording.count(schemes.count, "weight")) of the \(source) were compressed before, as "
                    + "\(Set(schemes).sorted().joined(separator: "; ")): what that lost stays lost"
            ]
    }

    /// Returns the model with the encoded weights whose values its constants have.
    /// - Parameters:
    ///   - names: the names of the tensors in the files that the encoded weights are parts of.
    ///   - transposed: the encoded weights that the checkpoint would have transposed, and the programs have as they are.
    ///   - importer: the importer and its version, for cache keys.
    func made(
        of encoded: [String: EncodedWeight], in names: Set<String>, transposed: Set<String> = [],
        by importer: String? = nil
    ) -> SourceModel {
        var model = self
        model.importer = importer
        let read = encoded.filter { name, _ in
            let rule = origins.derivations[name]?.rule
            return used.contains(name) && (rule == nil || rule == .transpose && transposed.contains(name))
        }
        model.encoded = read
        model.used.formUnion(names)
        model.isReadInPlace = true
        model.remarks += Self.remarks(on: read.values.map(\.codec.specification), of: "model")
        return model
    }

    /// Returns the model of a package with the encoded weights whose values its functions' constants have.
    func keeping(_ encoded: [String: CompressedTensor]) -> SourceModel {
        var model = self
        model.encoded = encoded.mapValues { EncodedWeight($0) }
        model.remarks += Self.remarks(on: encoded.values.map(\.codec.specification), of: "package")
        return model
    }

    /// Returns the model with other tensors for some weights, by name, of the same shapes, and other encodings.
    func replacing(_ tensors: [String: StoredTensor], encoded: [String: EncodedWeight]) throws -> SourceModel {
        var model = self
        model.programs = programs.map { $0.replacing(tensors) }
        model.functions = try functions?.map { try $0.applying { $0.replacing(tensors) } }
        model.encoded = encoded
        return model
    }

    /// Returns the model that depends on further tensors of the source's files.
    func reading(_ names: Set<String>) -> SourceModel {
        var model = self
        model.used.formUnion(names)
        return model
    }

    /// Returns the model with the token logits of its decoders for these positions only.
    /// - Returns: nil if no program computes logits over the vocabulary for all tokens.
    public func computing(_ positions: LogitPositions) throws -> SourceModel? {
        guard positions == .last else { return self }
        var model = self
        var isChanged = false
        func last(_ program: Program) throws -> Program {
            guard let changed = try program.computingLastLogits() else { return program }
            isChanged = true
            return changed
        }
        model.programs = try programs.map(last)
        model.functions = try functions?.map { try $0.applying(last) }
        model.logits = positions
        return isChanged ? model : nil
    }

    /// Returns the model without the outputs that depend on some weights, which a format does not hold.
    /// - Parameters:
    ///   - isLeftOut: whether a weight is one of these, by its name.
    ///   - remark: the remark that is printed if there are such outputs.
    func leavingOut(outputsOf isLeftOut: (String) -> Bool, remark: String) throws -> SourceModel {
        var model = self
        model.programs = try programs.map { try $0.leavingOut(outputsOf: isLeftOut) }
        model.functions = try functions?.map { try $0.applying { try $0.leavingOut(outputsOf: isLeftOut) } }
        let isSame = zip(programs, model.programs).allSatisfy { $0.outputs.count == $1.outputs.count }
        if isSame { return self }
        model.remarks.append(remark)
        return model
    }

    /// Family and version for cache keys, e.g. `bert 1`.
    public var versionedName: String { "\(family) \(familyVersion)" }
}

extension [FrozenProgram] {
    /// Returns the functions of the requested parts; empty for all.
    /// - Throws: `RequestError` for an unknown part.
    func asked(_ parts: [String]) throws -> [FrozenProgram] {
        let known = map(\.program.name)
        for part in parts where !known.contains(part) {
            let names = Set(known).sorted().joined(separator: ", ")
            throw RequestError("there is no part \"\(part)\" (the model has: \(names))")
        }
        return parts.isEmpty ? self : filter { parts.contains($0.program.name) }
    }
}
