import AccelPrograms
import AccelTensors
import CAccelKernels

/// The rows of a weight matrix as panels for the matrix product, made one at a time where they are needed.
struct WeightPanels: Sendable {
    private let weight: WeightRows
    /// All panels, where the model has them.
    let packed: PackedForm?
    static let width = ck_panel_width()
    private static let layout = "float32"

    /// - Throws: `Unsuitable` unless the operand is a contiguous float32 matrix or a stored one.
    init(_ weight: OperandMemory) throws(Unsuitable) {
        let rows = try WeightRows(weight)
        self.weight = rows
        let byteCount = (rows.count + Self.width - 1) / Self.width * Self.width * rows.columns * 4
        packed = weight.storedWeight?.packed(Self.layout, byteCount: byteCount)
    }

    var rows: Int { weight.count }
    var columns: Int { weight.columns }
    /// Floats that `pack` needs besides the panel.
    var scratchFloats: Int { weight.scratchFloats(rows: Self.width) }
    var count: Int { (rows + Self.width - 1) / Self.width }
    var panelFloats: Int { Self.width * columns }
    /// How the weight becomes panels.
    var reason: String {
        if packed != nil { return "panels packed before" }
        return weight.encoding + (weight.areDecoded ? " decoded to panels" : " packed to panels")
    }

    func rows(of panel: Int) -> Range<Int> { panel * Self.width..<min((panel + 1) * Self.width, rows) }

    func pack(_ panel: Int, into target: UnsafeMutablePointer<Float>, scratch: UnsafeMutablePointer<Float>) {
        let range = rows(of: panel)
        guard let floats = weight.floats(of: range, scratch: scratch) else { return }
        ck_pack_panel(floats, columns, range.count, columns, target)
    }

    /// The panels, packed now unless they are there: in the memory's start, with the scratch memory behind them.
    func floats(of panels: Range<Int>, _ memory: UnsafeMutablePointer<Float>) -> UnsafePointer<Float> {
        if let packed { return UnsafePointer(packed.floats + panels.lowerBound * panelFloats) }
        let spare = memory + panels.count * panelFloats
        for panel in panels { pack(panel, into: memory + (panel - panels.lowerBound) * panelFloats, scratch: spare) }
        return UnsafePointer(memory)
    }

    var packing: WeightPacking? {
        WeightPacking(
            layout: Self.layout, input: 1, byteCount: count * panelFloats * 4, panels: count,
            scratchFloats: scratchFloats
        ) { panel, whole, scratch in
            pack(panel, into: whole.assumingMemoryBound(to: Float.self) + panel * panelFloats, scratch: scratch)
        }
    }
}
