import Accel
import AccelByteIO

/// Cancels the opening of a package at random moments, and measures the time until it has ended.
struct OpeningLoad {
    let moments: Int

    func run(_ path: String) async throws {
        let clock = ContinuousClock()
        let configuration = Configuration.reproducible
        let whole = try await clock.measure {
            _ = try await AccelModel.opening(.path(path), configuration: configuration).value
        }
        var (delays, wrong) = ([Duration](), 0)
        for _ in 0..<moments {
            let opening = AccelModel.opening(.path(path), configuration: configuration)
            try await Task.sleep(for: whole * Double.random(in: 0..<1))
            let start = clock.now
            opening.cancel()
            do { _ = try await opening.value } catch let error as AccelError {
                if error.code != .cancelled { wrong += 1 }
            }
            delays.append(clock.now - start)
        }
        let high = CancellationLoad.percentile(99, delays)
        CancellationLoad.note(
            "opening: whole \(CancellationLoad.text(whole)), longest delay \(CancellationLoad.text(delays.max() ?? .zero))"
        )
        let late = wrong + (high > CancellationLoad.limit ? delays.count { $0 > CancellationLoad.limit } : 0)
        print(
            "cancelling an opening: p99 \(CancellationLoad.text(high)) ms\t\(moments)\t\(moments - late)\t\(late)")
    }
}
