// A plotly figure that the server made, light and dark: drawn when it can be seen, and anew for another theme or size.

function makeFigure(label, choose) {
  const plot = el('div', 'plot');
  const element = el('div', 'figure', plot);
  element.setAttribute('role', 'img');
  element.setAttribute('aria-label', label);
  let figure = null;
  let listening = false;
  let visible = false;

  async function draw() {
    if (!figure || !visible || !element.isConnected) return;
    const drawn = figure;
    let Plotly;
    try {
      Plotly = await loadPlotly();
    } catch (error) {
      element.classList.add('missing');
      plot.textContent = 'No chart: ' + error.message + '.';
      return;
    }
    if (drawn !== figure || !element.clientWidth) return;
    const { data, layout } = figure[document.body.classList.contains('dark') ? 'dark' : 'light'];
    const height = layout.height || element.clientHeight;
    const width = Math.max(element.clientWidth, (layout.meta || {}).least_width || 0);
    if (width > element.clientWidth) element.tabIndex = 0; // what does not fit scrolls, by keys too
    else element.removeAttribute('tabindex');
    await Plotly.react(plot, data, { ...layout, width, height, autosize: false }, { displayModeBar: false });
    if (listening || !choose) return;
    listening = true;
    plot.on('plotly_click', ({ points }) => { if (points.length) choose(points[0]); });
  }

  new IntersectionObserver(([entry]) => { visible = entry.isIntersecting; draw(); }, { rootMargin: '200px' }).observe(element);
  new ResizeObserver(() => draw()).observe(element);
  new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ['class'] });
  return {
    element,
    show(made) {
      figure = element.made = made;
      draw();
    },
  };
}

// The figures that stand on a board: [{name (of a file), label, made (light and dark)}].
function figuresIn(root) {
  return [...root.querySelectorAll('.figure')].filter((each) => each.made && each.offsetParent).map((each) => {
    const sweep = Boolean(each.closest('.sweep-card'));
    return { name: sweep ? 'sweep' : 'divergence', label: sweep ? 'Heat map' : 'Divergence', made: each.made };
  });
}
