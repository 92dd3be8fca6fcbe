// The monitor's charts. Their labels are times and priorities: nothing that a user or a handler wrote gets into them.
job_engine.monitor.Charts = class {
	HEIGHT = 220;
	COLORS = { completed: "#38a160", retried: "#f59e0b", dead: "#e24c4c", wait: "#7574ff", took: "#2490ef" };

	constructor(body) {
		this.body = body;
		this.made = {};
	}

	render(data) {
		const labels = data.bars.map((bar) => this.label(bar.at, data.span));
		this.draw("throughput", data.span, {
			type: "bar",
			colors: [this.COLORS.completed, this.COLORS.retried, this.COLORS.dead],
			barOptions: { stacked: 1, spaceRatio: 0.3 },
			data: {
				labels,
				datasets: [
					{ name: __("Completed"), values: data.bars.map((bar) => bar.completed) },
					{ name: __("Tried again"), values: data.bars.map((bar) => bar.retried) },
					{ name: __("Dead Letter", null, "Legend of a chart"), values: data.bars.map((bar) => bar.dead) },
				],
			},
		});
		this.draw("seconds", data.span, {
			type: "line",
			colors: [this.COLORS.wait, this.COLORS.took],
			lineOptions: { hideDots: 1, regionFill: 1 },
			data: {
				labels,
				datasets: [
					{ name: __("Wait, p95"), values: data.bars.map((bar) => this.rounded(bar.wait_p95)) },
					{ name: __("Duration, p95"), values: data.bars.map((bar) => this.rounded(bar.duration_p95)) },
				],
			},
			tooltipOptions: { formatTooltipY: (seconds) => job_engine.duration(seconds) },
		});
		const priorities = Object.keys(data.queued_by_priority).map((priority) => __(priority));
		this.draw("priorities", "", {
			type: "bar",
			colors: [this.COLORS.took],
			barOptions: { spaceRatio: 0.5 },
			data: {
				labels: priorities,
				datasets: [{ name: __("Waiting"), values: Object.values(data.queued_by_priority) }],
			},
		});
		this.keep_spelled_out("priorities", priorities);
	}

	// A chart is made anew where its shape changes, and otherwise fed. `shape` tells the two apart.
	draw(name, shape, options) {
		const place = this.body.find(`[data-chart="${name}"]`)[0];
		const text = JSON.stringify(options.data);
		const known = this.made[name];
		if (known?.text === text && known.shape === shape && place.firstChild) return;
		if (known?.shape === shape && place.firstChild) known.chart.update(options.data);
		else {
			place.innerHTML = "";
			const axes = { xIsSeries: shape !== "", shortenYAxisNumbers: 1, xAxisMode: "tick", yAxisMode: "span" };
			this.made[name] = {
				shape,
				chart: new frappe.Chart(place, { height: this.HEIGHT, animate: 0, axisOptions: axes, ...options }),
			};
		}
		this.made[name].text = text;
	}

	// Frappe Charts takes letters for wider than they are and cuts labels that have room. It draws them again whenever the
	// page changes its width.
	keep_spelled_out(name, labels) {
		const place = this.body.find(`[data-chart="${name}"]`)[0];
		this.spelling ||= new MutationObserver(() => this.spell_out(place, labels));
		this.spelling.observe(place, { childList: true, subtree: true });
		this.spell_out(place, labels);
	}

	spell_out(place, labels) {
		const texts = [...place.querySelectorAll(".x.axis text")];
		if (texts.length !== labels.length) return;
		const room = place.clientWidth / (labels.length + 1); // the numbers on the left take some
		this.spelling.disconnect();
		texts.forEach((text, i) => {
			const cut = text.textContent;
			text.textContent = labels[i];
			if (text.getComputedTextLength() > room) text.textContent = cut;
		});
		this.spelling.observe(place, { childList: true, subtree: true });
	}

	label(at, span) {
		const zone = frappe.boot.time_zone?.user || frappe.boot.time_zone?.system || moment.tz.guess();
		const time = moment(at).tz(zone).format("HH:mm");
		if (span !== "7d") return time;
		const day = new Date(at).toLocaleDateString(frappe.boot.lang, { weekday: "short", timeZone: zone });
		return `${day} ${time}`;
	}

	rounded(seconds) {
		return seconds === null ? 0 : Number(seconds.toPrecision(3));
	}
};
