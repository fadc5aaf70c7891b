/** Figures of a page: drawn, switched by their legends, told point by point to pointers and keys. */
import type {Page} from 'playwright-core'
import {expect, it} from 'vitest'
import {renderHtml} from '../../src/report/html/page.js'
import {FIGURE} from '../helpers/figures.js'
import {describeBrowser} from './browser.js'

const FACTS = {title: 't', runs: [], command: 'rfa report', generator: 'rfa'}

/** Label and facts of the point that has the focus. */
const focused = (page: Page) =>
  page.evaluate(() => document.activeElement?.getAttribute('aria-label'))

describeBrowser('a figure in a browser', ({open}) => {
  const opened = async (width = 900) => {
    const html = await renderHtml([{kind: 'figure', figure: {...FIGURE, command: 'rfa x'}}], FACTS)
    const {page, complaints} = await open(html, {viewport: {width, height: 900}})
    const drawing = page.locator(`.${width < 480 ? 'narrow' : 'wide'} svg`)
    return {page, complaints, drawing, tip: page.locator('.tip')}
  }

  it.each([360, 1600])(
    'is drawn in the window, with all points and an interval of each: %i px',
    async width => {
      const {complaints, drawing} = await opened(width)
      const box = (await drawing.boundingBox())!
      expect(box.x).toBeGreaterThanOrEqual(0)
      expect(box.x + box.width).toBeLessThanOrEqual(width)
      expect(await drawing.locator('.series-0 > [tabindex]').count()).toBe(3)
      expect(await drawing.locator('.series-1 > [tabindex]').count()).toBe(2)
      expect(await drawing.locator('.series-2 > [tabindex]').count()).toBe(0)
      expect(await drawing.locator('.series-0 line').count()).toBe(3)
      expect(complaints).toEqual([])
    },
  )

  it('has no two series of one colour and dash, on dark screens neither', async () => {
    const {page} = await opened()
    const looks = () =>
      page.locator('.wide g.series[aria-label], .wide g.series').evaluateAll(groups =>
        groups.flatMap(group => {
          const path = group.querySelector(':scope > path[role]:not([tabindex])')
          const {stroke, strokeDasharray} = path
            ? getComputedStyle(path)
            : {stroke: '', strokeDasharray: ''}
          return path ? [`${stroke} ${strokeDasharray}`] : []
        }),
      )
    const light = await looks()
    await page.emulateMedia({colorScheme: 'dark'})
    const dark = await looks()
    for (const own of [light, dark]) expect(new Set(own.slice(0, 2)).size).toBe(2)
    expect(dark[0]).not.toBe(light[0])
  })

  it('switches series by its legend', async () => {
    const {page, drawing} = await opened()
    const button = page.getByRole('button', {name: 'rfa iid'})
    const part = drawing.locator('.series-1').first()
    expect(await part.isVisible()).toBe(true)
    await button.click()
    expect(await button.getAttribute('aria-pressed')).toBe('false')
    expect(await part.isVisible()).toBe(false)
    expect(await drawing.locator('.series-0').first().isVisible()).toBe(true)
    await button.press('Enter')
    expect(await button.getAttribute('aria-pressed')).toBe('true')
    expect(await part.isVisible()).toBe(true)
  })

  it('reports a point on hover and on a click, within the window', async () => {
    const {drawing, tip} = await opened(360)
    expect(await tip.isVisible()).toBe(false)
    const point = drawing.locator('.series-0 > [tabindex]').nth(2)
    await point.hover({force: true}) // others may lie over it: the nearest is meant
    expect(await tip.innerText()).toBe('favor-pos orth\nM = 256')
    const box = (await tip.boundingBox())!
    expect(box.x).toBeGreaterThanOrEqual(0)
    expect(box.x + box.width).toBeLessThanOrEqual(360)
    await drawing.page().mouse.move(1, 1)
    expect(await tip.isVisible()).toBe(false)
    await point.click({force: true})
    expect(await tip.isVisible()).toBe(true)
  })

  it('is one stop of the tab key, and arrows lead from point to point', async () => {
    const {page, drawing, tip} = await opened()
    await page.getByRole('button', {name: 'predicted'}).focus()
    await page.keyboard.press('Tab')
    expect(await focused(page)).toBe('favor-pos orth, M = 16')
    expect(await tip.innerText()).toBe('favor-pos orth\nM = 16')
    await page.keyboard.press('ArrowRight')
    expect(await focused(page)).toBe('favor-pos orth, M = 64')
    await page.keyboard.press('ArrowDown')
    expect(await focused(page)).toBe('rfa iid, M = 64')
    await page.keyboard.press('End')
    expect(await focused(page)).toBe('rfa iid, M = 256')
    expect(await drawing.locator('[tabindex="0"]').count()).toBe(1)
    await page.keyboard.press('Escape')
    expect(await tip.isVisible()).toBe(false)
    await page.keyboard.press('Tab')
    expect(await focused(page)).toBeNull()
  })

  it('passes over series that are switched off', async () => {
    const {page} = await opened()
    await page.getByRole('button', {name: 'favor-pos orth', exact: true}).click()
    await page.getByRole('button', {name: 'predicted'}).focus()
    await page.keyboard.press('Tab')
    expect(await focused(page)).toBe('rfa iid, M = 64')
  })

  it('has its numbers and its command below', async () => {
    const {page} = await opened()
    await page.getByText('The numbers of this figure').click()
    expect(await page.getByRole('region', {name: 'Numbers of: Title of it'}).isVisible()).toBe(true)
    expect(await page.locator('figure .command code').innerText()).toBe('rfa x')
  })
})
