import ByteIO
import Dispatch
import Foundation

/// What the tool does on signals: an interrupt leaves nothing half-written, a reader that goes away is no crash.
enum Signals {
    // Kept for the life of the process: a source that is released stops.
    nonisolated(unsafe) private static var sources: [any DispatchSourceSignal] = []

    static func install() {
        signal(SIGPIPE, SIG_IGN)
        Files.reportTruncation()
        let queue = DispatchQueue(label: "accelc.signals")
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // `nohup accelc ...` goes on when the terminal closes.
            let previous = signal(number, SIG_IGN)
            if number == SIGHUP, unsafeBitCast(previous, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) {
                continue
            }
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { interrupted() }
            source.resume()
            sources.append(source)
        }
    }

    private static func interrupted() {
        TemporaryPaths.removeAll {
            let sentence: StaticString = "accelc: interrupted; nothing half-written is left\n"
            // Where nobody reads, this must not wait.
            var stream = pollfd(fd: 2, events: Int16(POLLOUT), revents: 0)
            if poll(&stream, 1, 0) == 1 { _ = write(2, sentence.utf8Start, sentence.utf8CodeUnitCount) }
            _exit(ExitStatus.interrupted.rawValue)
        }
    }
}
