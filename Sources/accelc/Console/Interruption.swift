import AccelByteIO
import AccelHostTools
import AccelPlatform
import Dispatch

/// How the tool ends before it is done: at any moment, whatever its other threads are at, with nothing half-written left.
///
/// What is half-written has a temporary name (`TemporaryPaths`), and gets its own by one rename. So nothing has to be asked
/// to stop: a thread that does no work removes what has such a name, makes sure that no more is made, and ends the process.
enum Interruption {
    private static let queue = DispatchQueue(label: "accelc.interruption", qos: .userInteractive)
    // Kept for the life of the process: a source that is released stops.
    nonisolated(unsafe) private static var sources: [any DispatchSourceProtocol] = []

    /// Ends the tool on an interrupt, and when its terminal closes. A reader that goes away is no crash, nor is a file that grows too large.
    static func onSignals() {
        signal(SIGPIPE, SIG_IGN)
        // Where files may only be so large: the write fails, and what is half-written is removed.
        signal(SIGXFSZ, SIG_IGN)
        if let descriptor = LostPages.report() {
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            source.setEventHandler { end("error: \(LostPages.read(from: descriptor).description)", .corrupt) }
            source.resume()
            sources.append(source)
        }
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // `nohup accelc ...` goes on when the terminal closes.
            let previous = signal(number, SIG_IGN)
            if number == SIGHUP, unsafeBitCast(previous, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) {
                continue
            }
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { end("interrupted") }
            source.resume()
            sources.append(source)
        }
    }

    /// Ends the tool once `seconds` have passed.
    static func after(_ seconds: Double) {
        let source = DispatchSource.makeTimerSource(queue: queue)
        let unit = seconds == 1 ? "second" : "seconds"
        source.setEventHandler { end("stopped after \(Text.number(seconds)) \(unit), as --timeout asks") }
        source.schedule(deadline: .now() + seconds)
        source.resume()
        sources.append(source)
    }

    private static func end(_ reason: String, _ status: ExitStatus = .interrupted) -> Never {
        HelperProcesses.endingAll {
            TemporaryPaths.removeAll {
                // Where nobody reads, this must not wait.
                var stream = pollfd(fd: 2, events: Int16(POLLOUT), revents: 0)
                if poll(&stream, 1, 0) == 1 {
                    let clear = isatty(2) == 1 ? "\r\u{1B}[K" : ""
                    var sentence = "\(clear)accelc: \(reason); nothing half-written is left\n"
                    sentence.withUTF8 { _ = write(2, $0.baseAddress, $0.count) }
                }
                _exit(status.rawValue)
            }
        }
    }
}
