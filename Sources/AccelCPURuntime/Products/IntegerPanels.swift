import AccelTensors
import CAccelKernels

/// Rows of integer codes packed to panels for `ck_gemm_int8`, in one piece of memory: codes, scales, shifts and sums of codes
/// of all panels.
struct IntegerPanels: Sendable {
    let codes: IntegerCodes
    /// Four codes of a row lie side by side, not two.
    let hasQuads: Bool
    let count: Int
    private let panelBytes: Int
    /// Numbers of a panel: of scales, and as many of shifts and of sums.
    private let numbers: Int
    /// Floats before each part.
    private let (scales, shifts, codeSums): (Int, Int, Int)
    /// Floats of the memory: a multiple of 64 bytes.
    let floats: Int

    init(_ codes: IntegerCodes, hasQuads: Bool, count: Int) {
        (self.codes, self.hasQuads, self.count) = (codes, hasQuads, count)
        panelBytes = ck_int8_panel_bytes(codes.columns)
        numbers = Panels.width * codes.blocks
        scales = (count * panelBytes + 3) / 4
        shifts = scales + count * numbers
        codeSums = shifts + (codes.hasShifts ? count * numbers : 0)
        floats = (codeSums + (hasQuads ? count * numbers : 0) + 15) / 16 * 16
    }

    /// Floats of any content that `pack` needs.
    var scratchFloats: Int { numbers * (codes.hasShifts ? 2 : 1) + codes.scratchFloats(rows: Panels.width) }

    /// The operand of the product, from a panel on.
    func weights(_ memory: UnsafeMutablePointer<Float>, from panel: Int = 0) -> ck_int8_panels {
        ck_int8_panels(
            codes: bytes(memory) + panel * panelBytes, scales: memory + scales + panel * numbers,
            shifts: codes.hasShifts ? memory + shifts + panel * numbers : nil, depth: codes.columns,
            block: codes.block, blocks: codes.blocks, bits: Int32(codes.bits), has_quads: hasQuads ? 1 : 0,
            code_sums: sums(memory) + panel * numbers)
    }

    /// Packs some rows, at most a panel of them.
    func pack(
        _ rows: Range<Int>, as panel: Int, _ memory: UnsafeMutablePointer<Float>,
        scratch: UnsafeMutablePointer<Float>
    ) {
        let rowShifts = scratch + numbers
        let unpacked = rowShifts + (codes.hasShifts ? numbers : 0)
        var shape = weights(memory)
        codes.withCodes(from: rows.lowerBound) { packed in
            ck_pack_int8_panel(
                codes.bytes(ofRows: rows.count, from: packed, scratch: unpacked), codes.columns, rows.count,
                codes.flipped, codes.middle, &shape, bytes(memory) + panel * panelBytes,
                sums(memory) + panel * numbers)
        }
        codes.load(rows, scales: scratch, shifts: rowShifts)
        transpose(rows.count, scratch, to: memory + scales + panel * numbers)
        if codes.hasShifts { transpose(rows.count, rowShifts, to: memory + shifts + panel * numbers) }
    }

    private func bytes(_ memory: UnsafeMutablePointer<Float>) -> UnsafeMutablePointer<Int8> {
        UnsafeMutableRawPointer(memory).assumingMemoryBound(to: Int8.self)
    }

    private func sums(_ memory: UnsafeMutablePointer<Float>) -> UnsafeMutablePointer<Int32> {
        UnsafeMutableRawPointer(memory + codeSums).assumingMemoryBound(to: Int32.self)
    }

    /// From the blocks of each row to the rows of each block. Columns of the panel that have no row get 0.
    private func transpose(_ rows: Int, _ source: UnsafePointer<Float>, to target: UnsafeMutablePointer<Float>) {
        for block in 0..<codes.blocks {
            for row in 0..<Panels.width {
                target[block * Panels.width + row] = row < rows ? source[row * codes.blocks + block] : 0
            }
        }
    }
}
