import {describe, expect, it} from 'vitest'
import {
  type Sources,
  watchConditions,
} from '../../../../../src/experiments/bench/measure/conditions.js'

/** A system whose files can be changed. */
function system(files: Record<string, string>, loads: (number | null)[] = [0.5, 1.5]): Sources {
  return {
    read: path => files[path] ?? null,
    list: path => {
      const names = Object.keys(files).flatMap(name =>
        name.startsWith(`${path}/`) ? name.slice(path.length + 1).split('/')[0]! : [],
      )
      return [...new Set(names)]
    },
    load: () => loads.shift() ?? null,
  }
}

const CLOCK = (processor: number) =>
  `/sys/devices/system/cpu/cpu${processor}/cpufreq/scaling_cur_freq`

describe('watchConditions', () => {
  it('reports load before and behind, the share of wanted time that was stolen, and how the clock moved', () => {
    const files = {
      '/proc/stat': 'cpu  100 10 20 5000 7 1 2 3 0 0\ncpu0 9 9 9 9 9 9 9 9 0 0\n',
      [CLOCK(0)]: '1200000\n',
      [CLOCK(13)]: '3000000\n',
      '/sys/devices/system/cpu/cpuidle/x': '9e9',
    }
    const watch = watchConditions(system(files))
    files[CLOCK(13)] = '2500000\n'
    watch.look()
    files[CLOCK(13)] = '3100000\n'
    // 60 ticks computed, 20 stolen; idle ones are nobody's
    files['/proc/stat'] = 'cpu  150 12 25 9000 9 2 4 23 0 0\n'
    expect(watch.end()).toEqual({
      load_before: 0.5,
      load_after: 1.5,
      steal_share: 20 / 80,
      lowest_mhz: 2500,
      highest_mhz: 3100,
      unknown: null,
    })
  })

  it('takes the clock of /proc/cpuinfo where the system governs none, and nothing stolen of no time', () => {
    const files = {
      '/proc/stat': 'cpu  1 0 0 0 0 0 0 0\n',
      '/proc/cpuinfo': 'model name\t: x\ncpu MHz\t\t: 2399.998\n\ncpu MHz\t\t: 2600.5\n',
    }
    expect(watchConditions(system(files)).end()).toMatchObject({
      steal_share: 0,
      lowest_mhz: 2600.5,
      highest_mhz: 2600.5,
    })
  })

  it('says why it does not know', () => {
    const nothing = {load_before: null, load_after: null, steal_share: null, lowest_mhz: null}
    expect(watchConditions(system({}, [])).end()).toEqual({
      ...nothing,
      highest_mhz: null,
      unknown:
        'load: this system keeps no average; stolen time: no /proc/stat that counts it; clock: neither cpufreq nor MHz in /proc/cpuinfo',
    })
    const old = {'/proc/stat': 'cpu  1 2 3 4\n'}
    expect(watchConditions(system(old)).end().steal_share).toBeNull()
  })
})
