import {readFileSync, writeFileSync} from 'node:fs'

/**
 * Starts measuring the process's peak resident memory over what it holds now (Linux: the kernel's
 * own high-water mark, which can be reset).
 *
 * @returns a function giving the peak since then, in bytes over the start; `null` elsewhere than on Linux
 */
export function startPeakMemory(): () => number | null {
  try {
    writeFileSync('/proc/self/clear_refs', '5') // resets VmHWM to the current resident size
  } catch {
    return () => null
  }
  const before = highWaterMark()
  return () => {
    const after = highWaterMark()
    return before === null || after === null ? null : after - before
  }
}

function highWaterMark(): number | null {
  const status = readFileSync('/proc/self/status', 'utf8')
  const match = /^VmHWM:\s+(\d+) kB$/m.exec(status)
  return match ? Number(match[1]) * 1024 : null
}
