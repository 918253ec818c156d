import AccelByteIO
import AccelTensors

/// The properties that a configuration states for the weight of a layer; nil for unstated ones.
struct LayerStatement: Sendable {
    /// The field that states it.
    let field: JSONField
    var bits: Int?
    var isFloat: Bool?
    var isSymmetric: Bool?
    var sharing: ScaleSharing?
    /// The names of the formats of files.
    var formats: [String]?
}

/// The properties of a layer's weight that its tensors show.
struct LayerFacts {
    enum Zeros {
        /// The format has none, or none that are stored.
        case none
        /// A tensor has them, which is not read.
        case stored
    }

    let bits: Int
    var isFloat = false
    var zeros = Zeros.none
    /// The name of the format of files, of compressed-tensors.
    var format: [String] = []
}

extension LayerStatement {
    /// Returns the statement that contradicts the tensors of a layer, as a phrase; nil if there is none.
    func contradiction(_ facts: LayerFacts, scales: Shape?, _ rows: Int, _ columns: Int) -> String? {
        if let bits, bits != facts.bits { return "\(bits) bits, and the codes are of \(facts.bits)" }
        if let isFloat, isFloat != facts.isFloat {
            return isFloat
                ? "floating-point codes, and these are integers" : "integer codes, and these are floating-point"
        }
        if let formats, !facts.format.isEmpty, !facts.format.contains(where: formats.contains) {
            return "the format \(quoted(formats.first ?? "")), and the tensors are those of \(facts.format[0])"
        }
        switch (isSymmetric, facts.zeros) {
        case (false, .none) where !facts.isFloat: return "zero points, and there are none"
        default: break
        }
        guard let sharing, let scales, !sharing.fits(scales, rows, columns) else { return nil }
        return "\(sharing.text), and scales of \(scales) are not those of \(rows) x \(columns) weights"
    }
}

extension QuantizedLayer {
    /// Returns which weights share a scale: as the configuration states it, or by the shape of the scales where that is the only
    /// reading.
    /// - Parameter usual: how weights share scales where the configuration does not state it.
    /// - Throws: `FormatError` for scales of another shape, or for a configuration that contradicts the tensors.
    func tiles(
        of scales: StoredTensor, _ rows: Int, _ columns: Int, _ facts: LayerFacts, usual: ScaleSharing? = nil
    ) throws -> ScaleTiles {
        let statements = try agreeing(with: facts, scales: scales.shape, rows, columns)
        let stated = Set(statements.compactMap { $0.sharing?.tiles(rows, columns) })
        guard stated.count <= 1 else {
            throw scales.error(
                "scales of \(scales.shape) fit several groups of the configuration, which read them in different ways")
        }
        if let tiles = stated.first { return tiles }
        if let usual, usual.fits(scales.shape, rows, columns) { return usual.tiles(rows, columns) }
        guard let tiles = ScaleTiles(of: scales.shape, rows, columns) else {
            throw scales.error(
                "scales of \(scales.shape) do not fit weights of [\(rows),\(columns)], and the configuration does not state "
                    + "their blocks")
        }
        return tiles
    }

    /// Returns the statements of the configuration about the layer that its tensors agree with; none if it states nothing.
    /// - Throws: `FormatError` if they contradict every statement.
    @discardableResult func agreeing(
        with facts: LayerFacts, scales: Shape? = nil, _ rows: Int = 0, _ columns: Int = 0
    ) throws -> [LayerStatement] {
        let statements = try configuration.statements(about: self)
        let fitting = statements.filter { $0.contradiction(facts, scales: scales, rows, columns) == nil }
        // The one with the same number of bits is meant most likely.
        let nearest = statements.first { $0.bits == facts.bits } ?? statements.first
        guard fitting.isEmpty, let nearest,
            let reason = nearest.contradiction(facts, scales: scales, rows, columns)
        else { return fitting }
        throw try mark.error("\(nearest.field.place) states \(reason)")
    }
}

extension QuantizedLayer {
    /// Returns the error for zero points of a grid that the configuration states to be symmetric; nil if it does not state so. Whoever reads
    /// the zero points compares them.
    /// - Parameter facts: those of a layer whose tensors agree with the configuration.
    func symmetricStatement(
        _ facts: LayerFacts, scales: Shape? = nil, _ rows: Int = 0, _ columns: Int = 0
    ) throws -> FormatError? {
        let statements = try agreeing(with: facts, scales: scales, rows, columns)
        guard let first = statements.first, statements.allSatisfy({ $0.isSymmetric == true }) else { return nil }
        return try mark.error("\(first.field.place) states a symmetric grid, and there are zero points")
    }
}

extension JSONField {
    /// The file's name and the path, for errors at tensors.
    var place: String { "\(file.split(separator: "/").last.map(String.init) ?? file), field \(path)," }
}
