/** A clock in nanoseconds; the process's monotonic one unless a test brings its own. */
export type Clock = () => number

/** That of the process, from its start on. A plain number: objects would be garbage between tokens. Reading it takes some 50 ns. */
export const monotonic: Clock = () => Math.round(performance.now() * 1e6)
