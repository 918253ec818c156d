extension ContinuousClock.Instant {
    var secondsToNow: Double { (ContinuousClock.now - self) / .seconds(1) }
}
