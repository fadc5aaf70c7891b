// The theme without its web font, with the styles of formulas and a figure at the top of the home page.
import Theme from 'vitepress/theme-without-fonts'
import {h} from 'vue'
import 'katex/dist/katex.min.css'
import timeOverLength from '../../../results/reference/claims/lengths/figures/time-over-length-column.png'
import './style.css'

const alt =
  'Time of a call over length: exact attention grows with the square, linear methods in proportion'
const figure = () => h('img', {class: 'hero-figure', src: timeOverLength, alt})

export default {
  extends: Theme,
  Layout: () => h(Theme.Layout, null, {'home-hero-image': figure}),
}
