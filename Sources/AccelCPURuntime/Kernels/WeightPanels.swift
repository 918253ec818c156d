import AccelPrograms
import AccelTensors
import CAccelKernels

/// The rows of a weight matrix as panels for the matrix product: those that the model has, or made one at a time where they are
/// needed.
struct WeightPanels: Sendable {
    private let weight: WeightRows
    /// All panels, where the model has them.
    let packed: PackedForm?
    private static let layout = "float32"

    /// - Throws: `Unsuitable` unless the operand is a contiguous float32 matrix or a stored one.
    init(_ weight: OperandMemory) throws(Unsuitable) {
        let rows = try WeightRows(weight)
        self.weight = rows
        packed = weight.storedWeight?.packed(Self.layout, byteCount: Self.byteCount(rows))
    }

    private static func byteCount(_ weight: WeightRows) -> Int {
        Panels.count(rows: weight.count) * Panels.width * weight.columns * 4
    }

    /// Floats that `pack` needs besides the panel.
    var scratchFloats: Int { weight.scratchFloats(rows: Panels.width) }
    var count: Int { Panels.count(rows: weight.count) }
    var panelFloats: Int { Panels.width * weight.columns }
    /// How the weight becomes panels.
    var reason: String {
        if packed != nil { return "panels packed before" }
        return weight.encoding + (weight.areDecoded ? " decoded to panels" : " packed to panels")
    }

    private func pack(_ panel: Int, into target: UnsafeMutablePointer<Float>, scratch: UnsafeMutablePointer<Float>) {
        let rows = Panels.rows(of: panel..<panel + 1, among: weight.count)
        guard let floats = weight.floats(of: rows, scratch: scratch) else { return }
        ck_pack_panel(floats, weight.columns, rows.count, weight.columns, target)
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
            layout: Self.layout, input: 1, byteCount: Self.byteCount(weight), panels: count,
            scratchFloats: scratchFloats
        ) { panel, whole, scratch in
            pack(panel, into: whole.assumingMemoryBound(to: Float.self) + panel * panelFloats, scratch: scratch)
        }
    }
}
