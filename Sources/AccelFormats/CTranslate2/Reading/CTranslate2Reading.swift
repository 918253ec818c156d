import AccelByteIO
import AccelTensors

/// A checkpoint as the variables of a CTranslate2 model state it.
struct CTranslate2Reading {
    /// config.json of the checkpoint.
    let configuration: JSON
    /// generation_config.json of the checkpoint; nil if the model has none.
    let generation: JSON?
    let reader: CTranslate2Reader
    /// Assumptions about the model, a sentence each.
    let remarks: [String]

    /// - Parameter file: the path of model.bin, for errors.
    /// - Throws: `RequestError` (unavailable) if no family of accelc computes what the model does; `FormatError` if variables
    ///   contradict each other.
    init(_ model: CTranslate2File, file: String, _ settings: CTranslate2Settings) throws {
        var reader = CTranslate2Reader(model, file: file)
        let family = try Self.family(of: reader)
        let draft = try family.read(&reader, settings)
        try reader.requireAllRead()
        (configuration, generation) = (.object(draft.members), draft.generation.map { .object($0) })
        remarks =
            draft.remarks
            + (reader.decoded.isEmpty
                ? []
                : [
                    "\(Wording.count(reader.decoded.count, "weight")) of int16 are decoded to their exact values in "
                        + "float32, because no codec has codes of 16 bits (\(reader.decoded.prefix(3).joined(separator: ", ")))"
                ])
        self.reader = reader
    }

    private static func family(of reader: CTranslate2Reader) throws -> any CTranslate2Family {
        switch reader.specification {
        case "WhisperSpec": return CTranslate2Whisper()
        case "TransformerEncoderSpec": return try CTranslate2Encoder.family(of: reader)
        case "TransformerDecoderSpec": return try CTranslate2Decoder.family(of: reader)
        default:
            throw reader.unsupported("no family of accelc has the layout \(quoted(reader.specification))")
        }
    }
}

/// The configuration of a checkpoint while a family reads a model.
struct CTranslate2Checkpoint {
    /// The members of config.json.
    private(set) var members: [JSON.Member]
    /// The members of generation_config.json; nil if the model has none.
    var generation: [JSON.Member]?
    /// Assumptions about the model, a sentence each.
    var remarks: [String] = []

    /// - Parameter architecture: the class of transformers.
    init(_ family: String, _ architecture: String) {
        members = [JSON.Member("model_type", .string(family)), JSON.Member("architectures", [.string(architecture)])]
    }

    mutating func set(_ name: String, _ value: JSON) { members.append(JSON.Member(name, value)) }
    mutating func set(_ name: String, count: Int) { set(name, .integer(Int64(count))) }
    mutating func set(_ new: [JSON.Member]) { members += new }
}
