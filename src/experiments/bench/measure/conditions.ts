/** What else the machine did while a cell was timed: load, stolen time, clock. */
import {readdirSync, readFileSync} from 'node:fs'
import {loadavg, platform} from 'node:os'
import type {YieldTurn} from '../../experiment.js'
import type {Conditions} from '../fields/conditions.js'

/** Where a system says what it does; a test brings its own. */
export interface Sources {
  /** Text of a file, `null` where there is none. */
  read(path: string): string | null
  /** Names in a folder; empty without a folder. */
  list(path: string): string[]
  /** Load average over a minute, `null` where the system keeps none. */
  load(): number | null
}

const SYSTEM: Sources = {
  read: path => orElse(null, () => readFileSync(path, 'utf8')),
  list: path => orElse([], () => readdirSync(path)),
  // zeros stand for "not kept" there
  load: () => (platform() === 'win32' ? null : loadavg()[0]!),
}

function orElse<T>(otherwise: T, action: () => T): T {
  try {
    return action()
  } catch {
    return otherwise
  }
}

export interface Watch {
  /** Reads the clock of the processors; between timed runs. */
  look(): void
  /** What there was to see since. */
  end(): Conditions
}

/** A turn ends with a look at the machine. */
export function looking(yieldTurn: YieldTurn | undefined, watch: Watch): YieldTurn | undefined {
  return (
    yieldTurn &&
    (() => {
      watch.look()
      return yieldTurn()
    })
  )
}

export function watchConditions(sources: Sources = SYSTEM): Watch {
  const before = {load: sources.load(), time: processorTime(sources)}
  const clocks: number[] = []
  const look = () => {
    const clock = clockOf(sources)
    if (clock !== null) clocks.push(clock)
  }
  look()
  return {
    look,
    end() {
      look()
      const share = stolenShare(before.time, processorTime(sources))
      return {
        load_before: before.load,
        load_after: sources.load(),
        steal_share: share,
        lowest_mhz: clocks.length > 0 ? Math.min(...clocks) : null,
        highest_mhz: clocks.length > 0 ? Math.max(...clocks) : null,
        unknown: missing(before.load, share, clocks),
      }
    },
  }
}

/** Why some of it is not known, in words; `null` where all is. */
function missing(load: number | null, share: number | null, clocks: readonly number[]) {
  const reasons = [
    ...(load === null ? ['load: this system keeps no average'] : []),
    ...(share === null ? ['stolen time: no /proc/stat that counts it'] : []),
    ...(clocks.length === 0 ? ['clock: neither cpufreq nor MHz in /proc/cpuinfo'] : []),
  ]
  return reasons.length > 0 ? reasons.join('; ') : null
}

/** Time since the start of the system, in its ticks. */
interface ProcessorTime {
  /** In which somebody wanted a processor of this machine. */
  wanted: number
  /** That the host gave to others. */
  stolen: number
}

/** The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal, ... */
function processorTime({read}: Sources): ProcessorTime | null {
  const ticks = /^cpu +(.*)$/m
    .exec(read('/proc/stat') ?? '')?.[1]
    ?.split(' ')
    .map(Number)
  if (!ticks || ticks.length < 8 || ticks.some(Number.isNaN)) return null
  const [user, nice, system, , , irq, softirq, stolen] = ticks as [number, ...number[]]
  return {wanted: user + nice! + system! + irq! + softirq! + stolen!, stolen: stolen!}
}

function stolenShare(before: ProcessorTime | null, after: ProcessorTime | null): number | null {
  if (!before || !after) return null
  const wanted = after.wanted - before.wanted
  return wanted > 0 ? (after.stolen - before.stolen) / wanted : 0
}

const PROCESSORS = '/sys/devices/system/cpu'

/** The fastest of the processors now, in MHz: one that computes. `null`: unknown. */
function clockOf({read, list}: Sources): number | null {
  const folders = list(PROCESSORS).filter(name => /^cpu\d+$/.test(name))
  const governed = folders.flatMap(name => {
    const kilohertz = Number(read(`${PROCESSORS}/${name}/cpufreq/scaling_cur_freq`) ?? Number.NaN)
    return Number.isNaN(kilohertz) ? [] : [kilohertz / 1000]
  })
  const told = (read('/proc/cpuinfo') ?? '').matchAll(/^cpu MHz\s*: ([\d.]+)$/gm)
  const clocks = governed.length > 0 ? governed : [...told].map(match => Number(match[1]))
  return clocks.length > 0 ? clocks.reduce((top, one) => Math.max(top, one), 0) : null
}
