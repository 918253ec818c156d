import AccelPrograms
import AccelTensors
import CAccelKernels

/// The rows of a weight matrix as panels for the matrix product, made one at a time where they are needed.
struct WeightPanels: Sendable {
    private let weight: OperandMemory
    let rows: Int
    let columns: Int
    /// Floats that `pack` needs besides the panel.
    let scratchFloats: Int
    static let width = ck_panel_width()

    /// - Throws: `Unsuitable` unless the operand is a contiguous float32 matrix or a stored one.
    init(_ weight: OperandMemory) throws(Unsuitable) {
        guard weight.shape.rank == 2, weight.layout.isContiguous, weight.elementType == .float32 else {
            throw Unsuitable("takes contiguous float32 matrices")
        }
        self.weight = weight
        (rows, columns) = (weight.shape.dimensions[0], weight.shape.dimensions[1])
        switch weight.location {
        case .weight(let stored):
            // Decoded rows, and the scratch memory of decoding.
            scratchFloats = Self.width * columns + stored.scratchFloats(rows: Self.width)
        case .memory: scratchFloats = 0
        }
    }

    var count: Int { (rows + Self.width - 1) / Self.width }
    var panelFloats: Int { Self.width * columns }
    /// How the weight becomes panels.
    var reason: String {
        guard case .weight(let stored) = weight.location else { return "float32 in memory packed to panels" }
        return "\(stored.encoding) decoded to panels"
    }

    func rows(of panel: Int) -> Range<Int> { panel * Self.width..<min((panel + 1) * Self.width, rows) }

    func pack(_ panel: Int, into target: UnsafeMutablePointer<Float>, scratch: UnsafeMutablePointer<Float>) {
        let range = rows(of: panel)
        switch weight.location {
        case .memory:
            guard let floats = weight.contiguousFloats else { return }
            ck_pack_panel(floats + range.lowerBound * columns, columns, range.count, columns, target)
        case .weight(let stored):
            // A weight stored as float32 is packed from where it lies.
            if let floats = stored.floatsInPlace {
                return ck_pack_panel(floats + range.lowerBound * columns, columns, range.count, columns, target)
            }
            stored.decode(range, into: scratch, scratch: scratch + Self.width * columns)
            ck_pack_panel(scratch, columns, range.count, columns, target)
        }
    }
}
