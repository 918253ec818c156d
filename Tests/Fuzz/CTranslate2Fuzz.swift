import AccelByteIO
import AccelTensors
import AccelWeightCompression
import TestSupport

@testable import AccelFormats

extension FuzzTarget {
    static let ctranslate2 = FuzzTarget(name: "ctranslate2", seeds: Attack.ctranslate2.map(\.bytes)) { bytes in
        let file = try CTranslate2File(parsing: bytes, file: "fuzz")
        try file.check(file: "fuzz")
        var count = file.structure.count
        for variable in file.variables where variable.shape.rank > 0 { count += variable.bytes.count }
        precondition(count == bytes.count)
        let reason = RequestError("fuzz")
        for weight in CTranslate2VariableSource(file, path: "fuzz", reason: reason).weights {
            let values = try weight.values()
            precondition(values.bytes.count == weight.shape.count * values.elementType.byteCount)
        }
        let settings = CTranslate2Settings(configuration: JSONField(nil, file: "fuzz"))
        let reader = try CTranslate2Reading(file, file: "fuzz", settings).reader
        for weight in reader.encoded.values {
            let shape = try weight.tensor().shape
            precondition(shape == weight.shape)
        }
        for tensor in reader.plain { _ = try tensor.resident() }
    }
}
