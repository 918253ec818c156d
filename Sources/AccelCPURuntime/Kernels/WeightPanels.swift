import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import CAccelKernels

/// The rows of a weight matrix as panels for the matrix product, made one at a time where they are needed.
struct WeightPanels: Sendable {
    private let weight: OperandMemory
    let rows: Int
    let columns: Int
    static let width = ck_panel_width()

    /// Nil unless the operand is a contiguous float32 matrix or a stored one.
    init?(_ weight: OperandMemory) {
        guard weight.shape.rank == 2, weight.layout.isContiguous, weight.operand.elementType == .float32 else {
            return nil
        }
        self.weight = weight
        (rows, columns) = (weight.shape.dimensions[0], weight.shape.dimensions[1])
    }

    var count: Int { (rows + Self.width - 1) / Self.width }
    var panelFloats: Int { Self.width * columns }
    /// Floats that `pack` needs besides the panel.
    var scratchFloats: Int { weight.contiguousFloats == nil ? panelFloats : 0 }

    func rows(of panel: Int) -> Range<Int> { panel * Self.width..<min((panel + 1) * Self.width, rows) }

    func pack(_ panel: Int, into target: UnsafeMutablePointer<Float>, scratch: UnsafeMutablePointer<Float>) {
        let range = rows(of: panel)
        switch weight.place {
        case .memory:
            guard let floats = weight.contiguousFloats else { return }
            ck_pack_panel(floats + range.lowerBound * columns, columns, range.count, columns, target)
        case .weight(let stored):
            if Self.packInPlace(stored, range, columns, target) { return }
            let decoded = UnsafeMutableBufferPointer(start: scratch, count: range.count * columns)
            stored.codec.decode(range, of: stored, into: decoded)
            ck_pack_panel(scratch, columns, range.count, columns, target)
        }
    }

    /// A weight stored as float32 is packed from where it lies.
    private static func packInPlace(
        _ weight: CompressedTensor, _ range: Range<Int>, _ columns: Int, _ target: UnsafeMutablePointer<Float>
    ) -> Bool {
        guard weight.codec is Float32Codec || (weight.codec is StoredCodec && weight.elementType == .float32),
            let section = weight.sections.first
        else { return false }
        return section.withBytes { bytes in
            guard let start = bytes.baseAddress, Int(bitPattern: start) % MemoryLayout<Float>.alignment == 0 else {
                return false
            }
            let floats = start.assumingMemoryBound(to: Float.self)
            ck_pack_panel(floats + range.lowerBound * columns, columns, range.count, columns, target)
            return true
        }
    }
}
