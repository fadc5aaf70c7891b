import {readFileSync, writeFileSync} from 'node:fs'

/**
 * Starts measuring a process's peak resident memory over what it holds now (Linux: the kernel's
 * own high-water mark, which can be reset).
 *
 * @param pid - its number; default: this one
 * @returns a function giving the peak since then, in bytes over the start; `null` elsewhere than on Linux
 */
export function startPeakMemory(pid: number | 'self' = 'self'): () => number | null {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5') // resets VmHWM to the current resident size
  } catch {
    return () => null
  }
  const before = highWaterMark(pid)
  return () => {
    const after = highWaterMark(pid)
    return before === null || after === null ? null : after - before
  }
}

function highWaterMark(pid: number | 'self'): number | null {
  const status = statusOf(pid)
  const match = /^VmHWM:\s+(\d+) kB$/m.exec(status)
  return match ? Number(match[1]) * 1024 : null
}

/** Nothing of a process that is gone. */
function statusOf(pid: number | 'self'): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return ''
  }
}
