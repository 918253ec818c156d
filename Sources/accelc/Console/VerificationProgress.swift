import AccelVerification

/// The progress of a verification: each stage once, with its completed share in steps of ten percent.
final class VerificationProgress {
    private let console: Console
    private var bar: ProgressBar?
    private var stage: Stage?
    /// The shown share of each stage, in tenths.
    private var tenths: [Stage: Int] = [:]

    init(_ console: Console) { self.console = console }

    /// Shows a stage and its completed fraction, from 0 to 1.
    func show(_ stage: Stage, _ fraction: Double) {
        if tenths[stage] == nil {
            bar = console.progress("verifying \(stage)")
            (self.stage, tenths[stage]) = (stage, 0)
        }
        let reached = Int(min(max(fraction, 0), 1) * 10)
        guard stage == self.stage, reached > tenths[stage] ?? 0 else { return }
        tenths[stage] = reached
        bar?.step("\(reached * 10) %")
    }
}
