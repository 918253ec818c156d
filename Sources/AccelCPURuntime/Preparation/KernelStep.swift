import AccelByteIO
import CAccelKernels

/// A part of a prepared kernel: pieces of work that do not depend on each other. All of a step is done before the next one
/// begins.
struct KernelStep: Sendable {
    typealias Body = @Sendable (_ piece: Int, _ scratch: UnsafeMutablePointer<Float>) -> Void
    let pieces: Int
    /// Floats of any content that each piece has for itself.
    let scratchFloats: Int
    /// The scratch memory that the step fills in for all joined calls that read it; nil: only its own call reads what it writes.
    let fills: SharedScratch?
    let body: Body

    init(_ pieces: Int, scratchFloats: Int = 0, fills: SharedScratch? = nil, _ body: @escaping Body) {
        self.pieces = max(pieces, 0)
        self.scratchFloats = scratchFloats
        self.fills = fills
        self.body = body
    }

    /// Pieces of about `elements` elements of rows of `width`: several rows, or a part of one that is longer.
    static func blocks(
        _ rows: Int, width: Int, elements: Int = 1 << 13,
        _ body: @escaping @Sendable (_ rows: Range<Int>, _ columns: Range<Int>) -> Void
    ) -> KernelStep {
        guard width > elements else {
            return .rows(rows, width: width, elements: elements) { body($0, 0..<width) }
        }
        let parts = (width + elements - 1) / elements
        return KernelStep(rows * parts) { piece, _ in
            let (row, part) = piece.quotientAndRemainder(dividingBy: parts)
            body(row..<row + 1, part * elements..<min((part + 1) * elements, width))
        }
    }

    /// Pieces that are ranges of `0..<rows`, for functions of whole rows, each of about `elements` elements in rows of `width`.
    static func rows(
        _ rows: Int, width: Int, elements: Int = 1 << 13, fills: SharedScratch? = nil,
        _ body: @escaping @Sendable (Range<Int>) -> Void
    ) -> KernelStep {
        let rowsAtOnce = max(1, elements / max(width, 1))
        return KernelStep((rows + rowsAtOnce - 1) / rowsAtOnce, fills: fills) { piece, _ in
            body(piece * rowsAtOnce..<min((piece + 1) * rowsAtOnce, rows))
        }
    }
}

/// A step with the scratch memory of the executor that runs it.
final class PlacedStep: Sendable {
    let step: KernelStep
    private let workspace: Workspace

    init(_ step: KernelStep, in workspace: Workspace) {
        self.step = step
        self.workspace = workspace
    }

    /// Works on a piece, unless the run has to end early.
    func run(_ piece: Int, worker: Int) {
        if workspace.isCancelled { return }
        step.body(piece, workspace.scratch(of: worker))
    }
}

/// Scratch memory of a function's calls: a part shared by all pieces of a call, followed by a part for each worker.
///
/// One call runs at a time, so all calls use the same bytes. The plan is made while calls are prepared; the memory comes
/// after.
final class Workspace: @unchecked Sendable {
    // Nothing changes while a run is under way.
    private let arena: SharedArena
    /// Bytes from the arena's start.
    private let start: Int
    private let workers: Int
    /// The cancellation of the run that is under way: pieces are passed over once it is cancelled.
    var cancellation: Cancellation?
    /// Whether the run that is under way has to end. Pieces of unbounded work, such as functions of whole rows, ask between their
    /// parts, and leave what they have not written: nobody reads it.
    var isCancelled: Bool { cancellation?.isCancelled ?? false }
    /// The same question, for kernels in C.
    var question: ck_cancellation {
        ck_cancellation(
            must_end: { workspace in
                guard let workspace else { return 0 }
                return Unmanaged<Workspace>.fromOpaque(workspace)._withUnsafeGuaranteedRef { $0.isCancelled } ? 1 : 0
            }, context: Unmanaged.passUnretained(self).toOpaque())
    }
    private var sharedBytes = 0
    private var bytesPerWorker = 0
    private var inUse = 0
    /// Memory that the calls of a group share, with its end.
    private var shared: [(content: SharedScratch.Content, scratch: SharedScratch, end: Int)] = []
    private var cells: [AddressCell] = []

    init(in arena: SharedArena, after start: Int, workers: Int) {
        self.arena = arena
        self.start = Self.aligned(start)
        self.workers = workers
    }

    /// Bytes from the arena's start to the end of the scratch memory.
    var end: Int { start + sharedBytes + workers * bytesPerWorker }

    var byteCount: Int { sharedBytes + workers * bytesPerWorker }

    /// Memory of a call that is being prepared, of any content when the call begins.
    func reserve(floats: Int) -> MemoryLocation {
        let location = MemoryLocation(cell: arena.cell, offset: start + inUse)
        inUse += Self.aligned(max(floats, 1) * MemoryLayout<Float>.stride)
        return location
    }

    /// Memory that a step fills in. The calls of a group that need the same content get the same memory.
    func reserve(_ content: SharedScratch.Content) -> SharedScratch {
        if let known = shared.first(where: { $0.content == content }) { return known.scratch }
        let number = inUse
        let scratch = SharedScratch(number: number, parts: content.floats.map { reserve(floats: $0) })
        shared.append((content, scratch, inUse))
        return scratch
    }

    /// Returns read-only memory that `owner` retains.
    func address(of floats: UnsafePointer<Float>, keptBy owner: AnyObject) -> MemoryLocation {
        let cell = AddressCell(UnsafeMutableRawPointer(mutating: floats), keptBy: owner)
        cells.append(cell)
        return cell.location
    }

    /// Discards all reservations after the first `bytes`.
    func rewind(to bytes: Int = 0) {
        inUse = bytes
        shared.removeAll { $0.end > bytes }
    }
    var reserved: Int { inUse }

    /// Counts the scratch memory of the call, or the calls, that are being prepared.
    func commit(_ steps: [KernelStep]) {
        sharedBytes = max(sharedBytes, inUse)
        let floats = steps.map(\.scratchFloats).max() ?? 0
        bytesPerWorker = max(bytesPerWorker, Self.aligned(floats * MemoryLayout<Float>.stride))
        rewind()
    }

    /// Calls `body` with the parts of `0..<count`, in order, until the run has to end. All parts but the last are a multiple of 8.
    /// - Parameter elements: of work that each number stands for.
    @inline(__always)
    func forEachPart(of count: Int, each elements: Int = 1, _ body: (Range<Int>) -> Void) {
        let most = max(1 << 16 / max(elements, 1), 8)
        var start = 0
        while start < count, start == 0 || !isCancelled {
            let end = count - start < most ? count : start + most
            body(start..<end)
            start = end
        }
    }

    func scratch(of worker: Int) -> UnsafeMutablePointer<Float> {
        (arena.cell.pointee + start + sharedBytes + worker * bytesPerWorker).assumingMemoryBound(to: Float.self)
    }

    private static func aligned(_ count: Int) -> Int { (count + 63) / 64 * 64 }
}
