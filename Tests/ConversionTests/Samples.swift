import AccelConversion
import TestSupport

enum Samples {
    /// Of a small BERT with 39 weights.
    static func conversion(_ scheme: String) throws -> Conversion {
        var conversion = try Conversion(of: Fixtures.path("bert_base"), compressedBy: scheme)
        conversion.shapes = [ShapeBindings(["batch": 1, "sequence": 4])]
        return conversion
    }
}
