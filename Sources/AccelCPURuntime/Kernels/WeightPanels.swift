import AccelPrograms
import AccelTensors
import CAccelKernels

/// The rows of a weight matrix as panels for the matrix product, made one at a time where they are needed.
struct WeightPanels: Sendable {
    private let weight: WeightRows
    static let width = ck_panel_width()

    /// - Throws: `Unsuitable` unless the operand is a contiguous float32 matrix or a stored one.
    init(_ weight: OperandMemory) throws(Unsuitable) { self.weight = try WeightRows(weight) }

    var rows: Int { weight.count }
    var columns: Int { weight.columns }
    /// Floats that `pack` needs besides the panel.
    var scratchFloats: Int { weight.scratchFloats(rows: Self.width) }
    var count: Int { (rows + Self.width - 1) / Self.width }
    var panelFloats: Int { Self.width * columns }
    /// How the weight becomes panels.
    var reason: String { weight.encoding + (weight.areDecoded ? " decoded to panels" : " packed to panels") }

    func rows(of panel: Int) -> Range<Int> { panel * Self.width..<min((panel + 1) * Self.width, rows) }

    func pack(_ panel: Int, into target: UnsafeMutablePointer<Float>, scratch: UnsafeMutablePointer<Float>) {
        let range = rows(of: panel)
        guard let floats = weight.floats(of: range, scratch: scratch) else { return }
        ck_pack_panel(floats, columns, range.count, columns, target)
    }
}
