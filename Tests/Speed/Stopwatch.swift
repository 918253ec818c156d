#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Processor time of this thread, which other programs stretch less than the clock on the wall.
func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}

/// The best of `rounds` of each, taken in turns so that both meet the same machine.
func best(_ rounds: Int, _ bodies: [() -> Void]) -> [Double] {
    var best = [Double](repeating: .infinity, count: bodies.count)
    for _ in 0..<rounds {
        for (index, body) in bodies.enumerated() {
            let start = processorSeconds()
            body()
            best[index] = min(best[index], processorSeconds() - start)
        }
    }
    return best
}

func text(_ value: Double, _ digits: Int) -> String {
    let scale = (0..<digits).reduce(1.0) { product, _ in product * 10 }
    let whole = Int((value * scale).rounded())
    guard digits > 0 else { return "\(whole)" }
    let rest = String(whole % Int(scale))
    return "\(whole / Int(scale)).\(String(repeating: "0", count: digits - rest.count))\(rest)"
}

func pad(_ text: String, _ width: Int, left: Bool = false) -> String {
    let space = String(repeating: " ", count: max(0, width - text.count))
    return left ? space + text : text + space
}

/// One line of the table: what was measured, against which bar, where there is one.
func line(_ name: String, _ figure: String, _ peer: String, _ bar: String, _ isMet: Bool?) {
    let verdict = isMet.map { $0 ? "met" : "MISSED" } ?? ""
    print("\(pad(name, 46)) \(pad(figure, 24)) \(pad(peer, 34)) \(pad(bar, 20)) \(verdict)")
}
