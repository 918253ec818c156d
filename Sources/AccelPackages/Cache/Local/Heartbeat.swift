import AccelByteIO
import Dispatch

/// Shows other processes that the holder of a lock is at work: its file is touched every few seconds.
final class Heartbeat: Sendable {
    static let seconds = 10
    // Safe: dispatch sources may be used from any thread, although the protocol does not declare it.
    nonisolated(unsafe) private let timer: any DispatchSourceTimer

    init(_ lock: FileLock) {
        let timer = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
        timer.schedule(
            deadline: .now() + .seconds(Self.seconds), repeating: .seconds(Self.seconds), leeway: .seconds(1))
        timer.setEventHandler { [weak lock] in lock?.touch() }
        timer.activate()
        self.timer = timer
    }

    deinit { timer.cancel() }
}
