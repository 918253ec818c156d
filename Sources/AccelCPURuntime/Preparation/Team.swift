import CAccelKernels

/// The threads of an executor: the caller's, and helpers from the pool of the process.
///
/// Work is cut into pieces by its size alone, never by the number of threads, and each piece writes its own part of the
/// result: so the result does not depend on how many threads there are or which of them is first.
final class Team {
    let threads: Int
    /// nil without memory: the caller works alone.
    private let handle: OpaquePointer?

    init(threads: Int) {
        self.threads = min(max(threads, 1), 255)
        handle = ck_team_make(self.threads)
    }

    deinit {
        if let handle { ck_team_free(handle) }
    }

    /// Works on all pieces of a step. Helpers are woken by the first step of several pieces, and stay awake until `rest`.
    func run(_ step: PlacedStep) {
        let context = Unmanaged.passUnretained(step).toOpaque()
        guard let handle else {
            for piece in 0..<step.step.pieces { step.run(piece, worker: 0) }
            return
        }
        ck_team_run(
            handle, step.step.pieces,
            { context, piece, worker in
                guard let context else { return }
                Unmanaged<PlacedStep>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.run(piece, worker: worker) }
            }, context)
    }

    /// Lets the helpers sleep: after a run.
    func rest() {
        if let handle { ck_team_rest(handle) }
    }

    /// How often helpers have been woken.
    var wakes: Int { handle.map { ck_team_wakes($0) } ?? 0 }
}
