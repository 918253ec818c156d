import AccelByteIO
import AccelTensors

/// The factors of a variable's codes, as CTranslate2 multiplies by them: it stores their inverses.
struct CTranslate2Factors {
    /// The end of the name of the variable that has them.
    static let suffix = "_scale"

    /// One for each row.
    private let values: [Float]

    /// - Parameter scales: the variable with the inverses; nil if there is none.
    /// - Throws: `FormatError` for other shapes, and for factors that are no positive numbers.
    init(of codes: CTranslate2File.Variable, _ scales: CTranslate2File.Variable?, _ file: String) throws {
        guard let scales else {
            throw FormatError(
                file: file, location: .tensor(codes.name, index: nil),
                reason: "expected the variable \(quoted(codes.name + Self.suffix)) beside its codes")
        }
        try CTranslate2File.check(scales, of: codes, file: file)
        let tensor = StoredTensor(
            name: scales.name, elementType: scales.elementType, shape: scales.shape, bytes: scales.bytes, file: file)
        let factors = tensor.floats().map { 1 / $0 }
        if let index = factors.firstIndex(where: { !($0.isFinite && $0 > 0) }) {
            throw tensor.error("\(1 / factors[index]) is no factor of codes", index: index)
        }
        let rows = codes.shape.dimensions.first ?? 1
        values = factors.count == 1 ? [Float](repeating: factors[0], count: rows) : factors
    }

    func rows(_ rows: Range<Int>) -> ArraySlice<Float> { values[rows] }

    /// Returns the values of all codes.
    func values(of codes: StoredTensor) -> [Float] {
        let width = max(1, codes.shape.count / max(values.count, 1))
        return codes.floats().enumerated().map { $1 * values[$0 / width] }
    }
}

extension CTranslate2File {
    /// Checks that codes have a factor for each row, or one for all.
    /// - Throws: `FormatError` with the variable.
    func check(file: String) throws {
        let names = Dictionary(variables.map { ($0.name, $0) }) { first, _ in first }
        for variable in variables where variable.name.hasSuffix(CTranslate2Factors.suffix) {
            guard let codes = names[String(variable.name.dropLast(CTranslate2Factors.suffix.count))] else { continue }
            try Self.check(variable, of: codes, file: file)
        }
    }

    fileprivate static func check(_ scales: Variable, of codes: Variable, file: String) throws {
        let rows = codes.shape.dimensions.first ?? 1
        guard scales.elementType == .float32, [1, rows].contains(scales.shape.count), codes.shape.count > 0 else {
            throw FormatError(
                file: file, location: .tensor(scales.name, index: nil),
                reason: "expected F32 [\(rows)], a factor for each row of \(quoted(codes.name)), found "
                    + "\(scales.elementType.rawValue) \(scales.shape)")
        }
    }
}
