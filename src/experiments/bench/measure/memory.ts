import {readFileSync, writeFileSync} from 'node:fs'
import {setFlagsFromString} from 'node:v8'
import {runInNewContext} from 'node:vm'

/**
 * Starts measuring the process's peak resident memory (Linux: the kernel's own high-water mark, which can be reset).
 *
 * @param before - what it is counted from, in bytes. Default: what the process holds now
 * @returns a function giving the peak since then, in bytes over that; `null` elsewhere than on Linux
 */
export function startPeakMemory(before = residentBytes()): () => number | null {
  residentBytes()
  return () => {
    const after = highWaterMark()
    return before === null || after === null ? null : Math.max(0, after - before)
  }
}

/** What the process holds now, where the high-water mark begins anew; `null` elsewhere than on Linux. */
export function residentBytes(): number | null {
  collectGarbage()
  try {
    writeFileSync('/proc/self/clear_refs', '5') // resets VmHWM to the current resident size
  } catch {
    return null
  }
  return highWaterMark()
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

function highWaterMark(): number | null {
  const status = readFileSync('/proc/self/status', 'utf8')
  const match = /^VmHWM:\s+(\d+) kB$/m.exec(status)
  return match ? Number(match[1]) * 1024 : null
}
