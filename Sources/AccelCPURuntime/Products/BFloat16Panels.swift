import AccelPrograms
import AccelTensors
import CAccelKernels

/// The rows of a weight matrix, rounded to bfloat16, as panels for the matrix product: those that the model has, or made one at a
/// time where they are needed.
struct BFloat16Panels: Sendable {
    private let weight: WeightRows
    /// Where the rows lie, if they are stored as bfloat16.
    private let stored: StoredWeight?
    /// All panels, where the model has them.
    let packed: PackedForm?
    /// Numbers of a column of a panel, and of a row before it is packed.
    private let depth: Int
    private static let layout = "bfloat16"

    /// - Throws: `Unsuitable` unless the operand is a contiguous float32 matrix or a stored one.
    init(_ operand: OperandMemory) throws(Unsuitable) {
        weight = try WeightRows(operand)
        let own = operand.storedWeight
        stored = own?.storedType == .bfloat16 && own?.halvesInPlace != nil ? own : nil
        depth = ck_bf16_depth(weight.columns)
        packed = own?.packed(Self.layout, byteCount: Panels.count(rows: weight.count) * Panels.width * depth * 2)
    }

    var count: Int { Panels.count(rows: weight.count) }
    var panelFloats: Int { Panels.width * depth / 2 }
    /// Floats that `pack` needs besides the panel: rounded rows, and decoded ones.
    var scratchFloats: Int { panelFloats + (stored == nil ? weight.scratchFloats(rows: Panels.width) : 0) }
    /// How the weight becomes panels.
    var reason: String {
        packed == nil ? "\(weight.encoding) rounded to panels of bfloat16" : "panels of bfloat16 packed before"
    }

    private func pack(_ panel: Int, into target: UnsafeMutablePointer<Float>, scratch: UnsafeMutablePointer<Float>) {
        let rows = Panels.rows(of: panel..<panel + 1, among: weight.count)
        let columns = weight.columns
        let rounded = Self.numbers(scratch)
        if let halves = stored?.halvesInPlace {
            for row in 0..<rows.count {
                let (source, target) = (halves + (rows.lowerBound + row) * columns, rounded + row * depth)
                target.update(from: source, count: columns)
                (target + columns).update(repeating: 0, count: depth - columns)
            }
        } else {
            guard let floats = weight.floats(of: rows, scratch: scratch + panelFloats) else { return }
            for row in 0..<rows.count { ck_bf16_row(floats + row * columns, columns, rounded + row * depth) }
        }
        ck_pack_bf16_panel(rounded, depth, rows.count, columns, Self.numbers(target))
    }

    /// The panels, packed now unless they are there: in the memory's start, with the scratch memory behind them.
    func numbers(of panels: Range<Int>, _ memory: UnsafeMutablePointer<Float>) -> UnsafePointer<UInt16> {
        if let packed { return UnsafePointer(Self.numbers(packed.floats + panels.lowerBound * panelFloats)) }
        let spare = memory + panels.count * panelFloats
        for panel in panels { pack(panel, into: memory + (panel - panels.lowerBound) * panelFloats, scratch: spare) }
        return UnsafePointer(Self.numbers(memory))
    }

    private static func numbers(_ memory: UnsafeMutablePointer<Float>) -> UnsafeMutablePointer<UInt16> {
        UnsafeMutableRawPointer(memory).assumingMemoryBound(to: UInt16.self)
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
