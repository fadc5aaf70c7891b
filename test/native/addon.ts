/** The addon under test, or the printed reason why these suites are skipped. */
import {beforeAll, describe, it} from 'vitest'
import {useBackend} from '../../src/backends/index.js'
import type {Addon} from '../../src/backends/native/addon.js'
import {loadAddon} from '../../src/backends/native/loader.js'

const loaded = loadAddon()
const reason = 'addon' in loaded ? undefined : loaded.reason

/** A suite that needs the addon. */
export function describeNative(title: string, body: (addon: Addon) => void): void {
  if ('addon' in loaded) {
    const {addon} = loaded
    describe(title, () => body(addon))
  } else {
    describe(title, () => it.skip(`skipped: ${reason}`, () => {}))
  }
}

/** Instruction sets of this machine and build, best first. */
export function instructionSets(): string[] {
  return 'addon' in loaded ? loaded.addon.runtime().available.split(',') : []
}

/** Suites on each instruction set in turn. */
export function describeOnEachIsa(addon: Addon, body: () => void): void {
  describe.each(instructionSets())('on %s', isa => {
    beforeAll(async () => {
      await useBackend('native')
      addon.selectIsa(isa)
      return () => addon.selectIsa('')
    })
    body()
  })
}
