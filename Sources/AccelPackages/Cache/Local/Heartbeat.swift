import AccelByteIO
import Dispatch

/// Shows others that the holder of a lock is at work: its file is touched every few seconds for as long as this lives.
final class Heartbeat: Sendable {
    static let seconds = 10
    // Sources may be used from any thread; the protocol does not say so.
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
